internal import Dispatch

/// A dispatcher that runs work only when its owner says so, such as `ManualDispatcher`. With no owner left,
/// nothing it has would ever run; so chains refer to it weakly, and end with it.
package protocol OwnedDispatcher: Dispatcher, AnyObject {}

extension Dispatcher {
    /// The object that chains retain until they submit work to this dispatcher: one reference, which costs less
    /// to copy than a dispatcher of unknown size.
    var retainedByChains: any Dispatcher & AnyObject {
        if Self.self == MainActorDispatcher.self { return mainActorDispatcher }
        if let owned = self as? any OwnedDispatcher { return owned.weakly }
        if Self.self is AnyClass, let object = self as? any Dispatcher & AnyObject { return object }
        return ValueDispatcher(base: self)
    }
}

/// One object for all, so that a hop to the main actor allocates none.
private let mainActorDispatcher = ValueDispatcher(base: MainActorDispatcher())

extension DelayedDispatcher {
    /// What scheduled work retains that schedules further work (F4): it would otherwise keep its dispatcher, and so
    /// itself.
    var retainedByWork: any DelayedDispatcher {
        func weakly(_ dispatcher: some OwnedDispatcher & DelayedDispatcher) -> any DelayedDispatcher {
            WeakDispatcher(base: dispatcher)
        }
        return (self as? any OwnedDispatcher & DelayedDispatcher).map { weakly($0) } ?? self
    }
}

extension OwnedDispatcher {
    fileprivate var weakly: any Dispatcher & AnyObject { WeakDispatcher(base: self) }
}

/// What chains retain in place of a dispatcher.
protocol DispatcherSubstitute: Dispatcher, AnyObject {
    associatedtype Base: Dispatcher
}

extension DispatcherSubstitute {
    static var base: any Dispatcher.Type { Base.self }
}

/// Refers to a dispatcher weakly. Work submitted after that one was deallocated is released without running.
private final class WeakDispatcher<Base: OwnedDispatcher>: DispatcherSubstitute {
    private let base: WeakReference<Base>

    init(base: Base) { self.base = WeakReference(base) }

    func dispatch(_ work: @escaping @Sendable () -> Void) { base.object?.dispatch(work) }
}

extension WeakDispatcher: DelayedDispatcher where Base: DelayedDispatcher {
    var elapsed: Duration { base.object?.elapsed ?? .zero }

    func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        base.object?.dispatch(after: delay, work) ?? ReleasedWork()
    }

    private struct ReleasedWork: DelayedWork { func cancel() {} }
}

/// Contains a dispatcher that is a value.
private final class ValueDispatcher<Base: Dispatcher>: DispatcherSubstitute {
    private let base: Base

    init(base: Base) { self.base = base }

    func dispatch(_ work: @escaping @Sendable () -> Void) { base.dispatch(work) }
}
