/// A permit of a lock or semaphore that `run` releases on every path.
protocol ReleasablePermit: Sendable {
    func release()
}

/// The one implementation of `run` for ``DeferredLock``, ``DeferredSemaphore`` and ``DeferredFilesystemLock``.
extension Deferred where Value: ReleasablePermit {
    /// Returns the outcome of `body`, which runs once the permit is there; the permit is released when the Deferred
    /// that `body` returns is settled, before callbacks further down the chain run.
    func running<R: DeferredConvertible>(
        _ body: @escaping @Sendable () throws -> R, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<R.Value> {
        then(
            { permit in
                Deferred<R.Value>(following: body, fileID: fileID, line: line)
                    .always({ _ in permit.release() }, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }

    /// Returns the outcome of `body`, which runs once the permit is there; the permit is released when it returns.
    func syncRunning<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<T> {
        map(
            { permit in
                defer { permit.release() }
                return try body()
            }, fileID: fileID, line: line)
    }

    /// Returns the outcome of `body`, which runs in a Task once the permit is there; the permit is released when the
    /// Task has ended.
    func asyncRunning<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<T> {
        running({ Deferred<T>(operation: body, fileID: fileID, line: line) }, fileID, line)
    }
}
