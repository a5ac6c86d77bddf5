internal import Synchronization

/// A step again and again, the next when the last has succeeded: a loop where steps are done at once, and a
/// chain of constant length where they have to be waited for (L6), so that neither takes stack.
struct Looping: Sendable {
    private let resolver: Resolver<Void>
    private let step: @Sendable () throws -> Deferred<Void>

    /// A Deferred that fails with the first step that fails. Its cancel cancels the step under way, and is
    /// the last one's end.
    static func deferred(
        fileID: StaticString, line: UInt, _ step: @escaping @Sendable () throws -> Deferred<Void>
    ) -> Deferred<Void> {
        let (deferred, resolver) = Deferred<Void>.withResolver(fileID: fileID, line: line)
        resolver.follow(only: Looping(resolver: resolver, step: step).run())
        return deferred
    }

    private func run() -> Deferred<Void> {
        while true {
            // Steps that never wait leave the cancel no other place to take effect.
            if resolver.isCancelled { return .rejected(CancellationError()) }
            let attaching = Attaching()
            let rest = Deferred<Void>(catching: { () throws -> Deferred<Void> in try step() })
                .then { () -> Deferred<Void> in
                    attaching.noteCallback() ? .resolved() : run()
                }
            if !attaching.end() { return rest }
        }
    }
}

/// Whether a callback runs inside the call that attaches it.
///
/// Sound as `@unchecked Sendable`: `wasHere` is read and written by the attaching thread alone; that is the
/// one that finds itself in `thread`.
private final class Attaching: @unchecked Sendable {
    private let thread = Atomic<UInt>(Platform.currentThread)
    private var wasHere = false

    /// From the callback; true if it runs inside the attaching.
    func noteCallback() -> Bool {
        guard thread.load(ordering: .relaxed) == Platform.currentThread else { return false }
        wasHere = true
        return true
    }

    /// Ends the attaching; true if the callback ran inside it.
    func end() -> Bool {
        thread.store(0, ordering: .relaxed)
        return wasHere
    }
}
