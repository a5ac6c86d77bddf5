public import Deferred

extension MulticastDelegate {
    /// Asks every delegate, each on its dispatcher (or at once, on this thread), and gives their answers in
    /// the order added.
    ///
    /// ```swift
    /// plugins.collect { $0.menuItems() }.then(on: .main) { menu.show($0.flatMap { $0 }) }
    /// ```
    ///
    /// All are asked, without waiting for one another; `body` runs as in ``notify(_:)``. A delegate that has
    /// gone or was removed when its turn comes gives no answer. The first error fails the whole, as it is;
    /// the other delegates have been asked all the same, and a further error is reported as one that nobody
    /// handled. With nobody there the answer is `[]`. Cancelled, it asks nobody whose turn has not come. If a
    /// dispatcher lets go of its work without running it, this fails with `DeferredError.abandoned`. What
    /// follows runs where the last delegate answered.
    public func collect<Answer: Sendable>(
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<[Answer]> {
        collect({ .resolved(try body($0)) }, fileID: fileID, line: line)
    }

    /// Asks every delegate, each on its dispatcher (or at once, on this thread), and waits for the answers
    /// that they promise; they come in the order added.
    ///
    /// As the form with plain answers. Cancelled, it cancels the answers that it waits for.
    public func collect<Answer: Sendable>(
        _ body: @escaping @Sendable (Delegate) throws -> Deferred<Answer>,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<[Answer]> {
        let registrations = registry.snapshot().compactMap { $0 }
        var answers: [Deferred<Answer?>?] = Array(repeating: nil, count: registrations.count)
        for handsOver in [true, false] {
            for (index, registration) in registrations.enumerated()
            where registration.isHandedOver == handsOver {
                answers[index] = ask(registration, body)
            }
        }
        return DeferredList(answers.compactMap { $0 }).values(fileID: fileID, line: line)
            .then({ answers in answers.compactMap { $0 } }, fileID: fileID, line: line)
    }

    /// One delegate's answer, from where it wants to be asked; nil if it has gone or was removed by then.
    func ask<Answer: Sendable>(
        _ registration: Registration,
        _ body: @escaping @Sendable (Delegate) throws -> Deferred<Answer>
    ) -> Deferred<Answer?> {
        let question: @Sendable () throws -> Deferred<Answer?> = {
            [listener = registration.listener, weak registry] in
            guard let object = listener.recipient(in: registry) else { return .resolved(nil) }
            return try body(Self.delegate(of: listener, object)).then { .some($0) }
        }
        guard let dispatcher = registration.dispatcher else { return Deferred(catching: question) }
        return Deferred<Void>.resolved(()).then(on: dispatcher) { try question() }
    }
}
