extension DeferredList {
    /// Creates a list that makes its Deferreds one by one, each with a permit of `semaphore`.
    ///
    /// ```swift
    /// let connections = DeferredSemaphore(4)
    /// let pages = DeferredList(addresses, limit: connections) { fetchPage($0) }.results()
    /// let images = DeferredList(names, limit: connections) { fetchImage($0) }.results()
    /// connections.limit = 2           // from now on, of both lists together
    /// ```
    ///
    /// Lists and calls of `run` that share a semaphore are served in the order in which they ask: a list waits for one
    /// permit at a time, behind what waits already. It takes the next element out of its sequence, and calls `body`,
    /// when it has the permit. (Where none of its inputs is in progress, it takes the element before it waits, since
    /// the list may have ended.) The permit is released when the input is settled, after the list's callbacks, also if
    /// the list no longer needs that input. A list that is stopped leaves the queue.
    ///
    /// When the semaphore refuses a permit, by ``DeferredSemaphore/rejectWaiting(with:)`` or a limit below 1, the list
    /// starts no further input, as after a cancel, with that error in place of `CancellationError`. Otherwise behaves as
    /// the form with a number.
    ///
    /// - Parameters:
    ///   - inputs: The elements that `body` is called with, in order.
    ///   - semaphore: Its ``DeferredSemaphore/limit`` may be changed while the list is in progress.
    ///   - consumesErrors: As for the list of Deferreds.
    ///   - cancelsRemaining: As for the list of Deferreds.
    ///   - wrapsErrors: As for the list of Deferreds.
    ///   - body: Makes the Deferred for an element. Runs on the thread that asks for the first result, and then on
    ///     the thread that releases a permit. One call at a time.
    public init<S: Sequence>(
        _ inputs: sending S, limit semaphore: DeferredSemaphore, consumesErrors: Bool = false,
        cancelsRemaining: Bool = false, wrapsErrors: Bool = false,
        _ body: @escaping @Sendable (S.Element) -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) where S.Element: Sendable {
        self.fileID = fileID
        self.line = line
        let site = DeferredDiagnostic.Location(.list, fileID, line)
        source = .limited(
            LimitedListHandle(inputs, .semaphore(semaphore), site, wrapsErrors: wrapsErrors, body))
        self.consumesErrors = consumesErrors
        self.cancelsRemaining = cancelsRemaining
    }

    /// Creates a list whose `body` runs on the main actor. Otherwise behaves as the form without `on:`.
    public init<S: Sequence>(
        _ inputs: sending S, limit semaphore: DeferredSemaphore, on _: MainActor.Type,
        consumesErrors: Bool = false, cancelsRemaining: Bool = false, wrapsErrors: Bool = false,
        _ body: @escaping @MainActor @Sendable (S.Element) -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) where S.Element: Sendable {
        self.init(
            inputs, limit: semaphore, consumesErrors: consumesErrors, cancelsRemaining: cancelsRemaining,
            wrapsErrors: wrapsErrors,
            { Deferred<S.Element>.resolved($0).then(on: MainActor.self, body) }, fileID: fileID, line: line)
    }
}
