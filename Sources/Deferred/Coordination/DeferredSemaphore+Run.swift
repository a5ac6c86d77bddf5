extension DeferredSemaphore {
    /// Runs `body` when it is this one's turn, and gives the permit back when the Deferred that it returns
    /// has an outcome: a value, an error or a cancel.
    ///
    /// `body` runs on the thread that lets it in, or at once. Cancelled while it waits, it leaves the line,
    /// and `body` never runs; cancelled later, that cancels what `body` gave. What `body` throws is the
    /// outcome. The permit is given back before callbacks further down the chain run.
    public func run<T: Sendable>(
        _ body: @escaping @Sendable () throws -> Deferred<T>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        acquire(fileID: fileID, line: line).running(body, fileID, line)
    }

    /// As the form above, for a `body` that is done when it returns.
    public func run<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run({ Deferred<T>(catching: body) }, fileID: fileID, line: line)
    }

    /// Done when `body` has run. May be left alone: a failure that nobody handles is reported.
    @discardableResult
    public func run(
        _ body: @escaping @Sendable () throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        run({ Deferred<Void>(catching: body) }, fileID: fileID, line: line)
    }

    /// What an asynchronous `body` gives, which runs in a Task; a cancel cancels that.
    @_disfavoredOverload
    public func run<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run({ Deferred<T>(operation: body, fileID: fileID, line: line) }, fileID: fileID, line: line)
    }
}

extension Deferred where Value == DeferredSemaphore.Permit {
    /// What `body` gives, run with the permit, which is given back on every path.
    func running<T>(
        _ body: @escaping @Sendable () throws -> Deferred<T>, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<T> {
        then(
            { permit -> Deferred<T> in
                Deferred<T>(catching: body).both(
                    { result throws -> T in
                        permit.release()
                        return try result.get()
                    }, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }
}
