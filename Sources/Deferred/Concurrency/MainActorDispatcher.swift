internal import Synchronization

/// Returns `body` as a closure that may be called wherever the main actor's executor is current.
@inlinable
@inline(__always)
func onMainActor<Input: Sendable, Output: Sendable>(
    _ body: @escaping @MainActor @Sendable (Input) throws -> Output
) -> @Sendable (Input) throws -> Output {
    { input in try MainActor.assumeIsolated { try body(input) } }
}

/// Runs work on the main actor's executor, in the order submitted.
@usableFromInline
package struct MainActorDispatcher: Dispatcher, Equatable {
    /// How many pieces of work have been submitted and have not ended.
    private static let unfinishedCount = Atomic<Int>(0)

    /// Whether there is work that has not ended.
    package static var hasWork: Bool { unfinishedCount.load(ordering: .acquiring) > 0 }

    @usableFromInline
    package init() {}

    /// Whether this is the main actor, or the main thread or queue outside of any actor, so that what is isolated to
    /// the main actor may be called here. May be false there, too: on another queue that a `sync` call of the main
    /// thread runs work of.
    static var isCurrent: Bool { Platform.isOnMainQueue }

    @usableFromInline
    package func dispatch(_ work: @escaping @Sendable () -> Void) {
        Self.unfinishedCount.add(1, ordering: .relaxed)
        Task { @MainActor in
            work()
            Self.unfinishedCount.subtract(1, ordering: .releasing)
        }
    }
}

extension Dispatcher where Self == MainActorDispatcher {
    @usableFromInline
    package static var mainActor: MainActorDispatcher { MainActorDispatcher() }
}

extension Deferred where Value == Void {
    /// Runs `body` on the main actor, not before this returns, and returns a Deferred with the outcome of the one that
    /// `body` returns. A cancel before `body` runs prevents that.
    static func following<R: DeferredConvertible>(
        on _: MainActor.Type, _ fileID: StaticString, _ line: UInt,
        _ body: @escaping @MainActor @Sendable () throws -> R
    ) -> Deferred<R.Value> {
        resolved().then(on: MainActor.self, { _ in try body() }, fileID: fileID, line: line)
    }

    /// Runs `body` on the main actor, not before this returns, and returns a Deferred with what `body` returns or
    /// throws. A cancel before `body` runs prevents that.
    static func catching<T: Sendable>(
        on _: MainActor.Type, _ fileID: StaticString, _ line: UInt,
        _ body: @escaping @MainActor @Sendable () throws -> T
    ) -> Deferred<T> {
        resolved().map(on: MainActor.self, { _ in try body() }, fileID: fileID, line: line)
    }
}
