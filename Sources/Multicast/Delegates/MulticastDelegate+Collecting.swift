public import Deferred

extension MulticastDelegate {
    /// Asks every delegate, each on its dispatcher (or at once, on this thread), and returns a Deferred with
    /// their answers in the order added.
    ///
    /// ```swift
    /// plugins.collect { $0.menuItems() }.done(on: .main) { menu.show($0.flatMap { $0 }) }
    /// ```
    ///
    /// All are asked, without waiting for one another; `body` runs as in ``notify(_:)``. A delegate that has
    /// been deallocated or removed before it is asked is skipped. The first error fails the result,
    /// unchanged; the other delegates are asked all the same, and a further error is reported as one that
    /// nobody handled, with the location of this call. Without delegates the answer is `[]`.
    ///
    /// Once the result is cancelled, calls that have not begun are not made. If a dispatcher releases its
    /// work without running it, or is released together with it, the result fails with
    /// `DeferredError.abandoned`. What is attached to the result without a dispatcher runs where the last
    /// delegate answered; attached after that, it runs at once, as with every Deferred.
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates.
    public func collect<Answer: Sendable>(
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<[Answer]> {
        collect(CallSite(fileID: fileID, line: line)) { .now(try body($0)) }
    }

    /// Asks every delegate, each on its dispatcher (or at once, on this thread), and waits for the Deferreds
    /// that they return; the answers are in the order added.
    ///
    /// As the form with plain answers. A cancel cancels the Deferreds that it waits for.
    ///
    /// - Complexity: O(*n*), where *n* is the number of delegates.
    public func collectDeferred<Answer: DeferredConvertible>(
        _ body: @escaping @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<[Answer.Value]> {
        collect(CallSite(fileID: fileID, line: line)) { .later(try body($0).deferred) }
    }

    private func collect<Answer: Sendable>(
        _ site: CallSite, _ body: @escaping @Sendable (Delegate) throws -> Reply<Answer>
    ) -> Deferred<[Answer]> {
        Poll<Delegate, Answer?>(self, skipped: nil, site) {
            switch try body($0) {
            case .now(let answer): .now(answer)
            case .later(let promise):
                .later(
                    promise.mapPassingOn({ $0 }, fileID: site.fileID, line: site.line).answer(at: site))
            }
        }.answers()
    }
}
