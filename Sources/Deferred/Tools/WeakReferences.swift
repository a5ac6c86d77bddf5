internal import Dispatch

/// A weak reference that never changes, for classes that are checked to be `Sendable`.
///
/// Not `weak let` (SE-0481), which Swift 6.2 does not have.
package struct WeakReference<Object: AnyObject & Sendable>: Sendable {
    package private(set) weak var object: Object?

    package init(_ object: Object?) { self.object = object }
}

/// A dispatcher that runs work only when its owner says so, such as `ManualDispatcher`. With no owner left,
/// nothing it has would ever run; so chains refer to it weakly, and end with it.
package protocol OwnedDispatcher: Dispatcher, AnyObject {}

extension Dispatcher {
    /// The dispatcher that chains retain in place of this one until they submit work to it.
    var retainedByChains: any Dispatcher {
        if Self.self == DispatchQueue.self { return self }
        guard let owned = self as? any OwnedDispatcher else { return self }
        return owned.weakly
    }
}

extension OwnedDispatcher {
    fileprivate var weakly: any Dispatcher { WeakDispatcher(base: self) }
}

/// Refers to a dispatcher weakly. Work submitted after that one was deallocated is released without running.
private struct WeakDispatcher<Base: OwnedDispatcher>: Dispatcher {
    weak var base: Base?

    func dispatch(_ work: @escaping @Sendable () -> Void) { base?.dispatch(work) }
}
