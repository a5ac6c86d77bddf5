public import Deferred

/// Calls and questions for delegates that are isolated to the main actor.
///
/// ```swift
/// @MainActor protocol DocumentDelegate: AnyObject {
///     func mayClose() -> Bool
/// }
/// delegates.all(on: MainActor.self) { $0.mayClose() }.done { if $0 { close() } }
/// ```
///
/// With `on: MainActor.self` every delegate is called on the main actor, in place of the dispatcher that it was added
/// with, and never before the call returns; the compiler checks that the closure is isolated to the main actor.
/// Otherwise these forms behave as those without.
extension MulticastDelegate {
    /// Calls `body` with each delegate, on the main actor, in the order added.
    public func notify(on _: MainActor.Type, _ body: @escaping @MainActor @Sendable (Delegate) -> Void) {
        onMainActor.notify { delegate in
            let delegate = UncheckedArguments(value: delegate)
            MainActor.assumeIsolated { body(delegate.value) }
        }
    }

    /// Asks every delegate, on the main actor, and returns a Deferred with their answers in the order added.
    public func collect<Answer: Sendable>(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<[Answer]> {
        onMainActor.collect(assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Asks every delegate, on the main actor, and waits for the Deferreds that they return.
    public func collectDeferred<Answer: DeferredConvertible>(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<[Answer.Value]> {
        onMainActor.collectDeferred(assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Returns whether all delegates, asked on the main actor, say yes: the first no decides.
    public func all(
        asking order: MulticastOrder = .sequentially, on _: MainActor.Type,
        _ body: @escaping @MainActor @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> {
        onMainActor.all(asking: order, assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Returns whether all delegates, asked on the main actor, say yes, and waits for the Deferreds that they return.
    public func all<Answer: DeferredConvertible>(
        asking order: MulticastOrder = .sequentially, on _: MainActor.Type,
        _ body: @escaping @MainActor @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> where Answer.Value == Bool {
        onMainActor.all(asking: order, assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Returns whether any delegate, asked on the main actor, says yes: the first yes decides.
    public func any(
        asking order: MulticastOrder = .sequentially, on _: MainActor.Type,
        _ body: @escaping @MainActor @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> {
        onMainActor.any(asking: order, assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Returns whether any delegate, asked on the main actor, says yes, and waits for the Deferreds that they return.
    public func any<Answer: DeferredConvertible>(
        asking order: MulticastOrder = .sequentially, on _: MainActor.Type,
        _ body: @escaping @MainActor @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Bool> where Answer.Value == Bool {
        onMainActor.any(asking: order, assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Asks one delegate after the other, on the main actor, until one ends the question, and passes each the result
    /// so far.
    public func reduce<Answer: Sendable>(
        over initial: Answer, on _: MainActor.Type,
        _ body: @escaping @MainActor @Sendable (Answer, Delegate) throws -> MulticastStep<Answer>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Answer> {
        onMainActor.reduce(over: initial, assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Asks one delegate after the other, on the main actor, until one ends the question, and waits for the Deferred
    /// that each returns.
    public func reduceDeferred<Answer: Sendable, Step: DeferredConvertible>(
        over initial: Answer, on _: MainActor.Type,
        _ body: @escaping @MainActor @Sendable (Answer, Delegate) throws -> Step,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Answer> where Step.Value == MulticastStep<Answer> {
        onMainActor.reduceDeferred(over: initial, assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Asks every delegate, one after the other, on the main actor; each changes the result in place.
    public func reduce<Answer: Sendable>(
        into initial: consuming Answer, on _: MainActor.Type,
        _ body: @escaping @MainActor @Sendable (inout Answer, Delegate) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Answer> {
        onMainActor.reduce(
            into: consume initial,
            { answer, delegate in
                let delegate = UncheckedArguments(value: delegate)
                try MainActor.assumeIsolated { try body(&answer, delegate.value) }
            }, fileID: fileID, line: line)
    }

    /// The same delegates, all of which are called and asked on the main actor.
    private var onMainActor: MulticastDelegate { .init(registry, calledOn: MainActorDispatcher()) }
}

extension MulticastDelegate where Delegate: Sendable {
    /// Returns the delegate that, asked on the main actor, said yes first, or nil if none did.
    public func first(
        asking order: MulticastOrder = .sequentially, on _: MainActor.Type,
        where body: @escaping @MainActor @Sendable (Delegate) throws -> Bool,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Delegate?> {
        onMainActor.first(asking: order, where: assumingIsolated(body), fileID: fileID, line: line)
    }

    /// Returns the delegate whose Deferred said yes first, or nil if none did; asks on the main actor.
    public func first<Answer: DeferredConvertible>(
        asking order: MulticastOrder = .sequentially, on _: MainActor.Type,
        where body: @escaping @MainActor @Sendable (Delegate) throws -> Answer,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Delegate?> where Answer.Value == Bool {
        onMainActor.first(asking: order, where: assumingIsolated(body), fileID: fileID, line: line)
    }
}

/// Arguments on their way to a closure that runs on the main actor.
///
/// Sound as `@unchecked Sendable`: created where the main actor's executor is current, and used there at once.
private struct UncheckedArguments<Arguments>: @unchecked Sendable {
    let value: Arguments
}

/// Returns `body` as a closure that may be called wherever the main actor's executor is current.
private func assumingIsolated<each Argument, Answer: Sendable>(
    _ body: @escaping @MainActor @Sendable (repeat each Argument) throws -> Answer
) -> @Sendable (repeat each Argument) throws -> Answer {
    { (argument: repeat each Argument) in
        let arguments = UncheckedArguments(value: (repeat each argument))
        return try MainActor.assumeIsolated { try body(repeat each arguments.value) }
    }
}
