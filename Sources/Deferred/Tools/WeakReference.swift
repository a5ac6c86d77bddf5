/// A weak reference that never changes, for classes that are checked to be `Sendable`.
///
/// Not `weak let` (SE-0481), which Swift 6.2 does not have.
package struct WeakReference<Object: AnyObject & Sendable>: Sendable {
    package private(set) weak var object: Object?

    package init(_ object: Object?) { self.object = object }
}
