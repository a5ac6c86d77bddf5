import Deferred
import Foundation

/// What happened, in order, from any thread.
final class Recorder<Element: Sendable>: @unchecked Sendable {
    // `@unchecked Sendable` is sound: `elements` is touched only under `lock`.
    private let lock = NSLock()
    private var elements: [Element] = []

    func note(_ element: Element) { lock.withLock { elements.append(element) } }

    var all: [Element] { lock.withLock { elements } }
}

/// Runs what it is given within the call, as a main-thread dispatcher may do on the main thread.
struct InlineDispatcher: Dispatcher {
    func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
