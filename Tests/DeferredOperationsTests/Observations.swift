import Foundation
import LoopbackServer

/// Collects elements in order, from any thread.
final class Observations<Element: Sendable>: Sendable {
    private let elements = Watched<[Element]>([])

    func note(_ element: Element) { elements.update { $0.append(element) } }

    var all: [Element] { elements.value }

    /// Waits until so many elements have been noted.
    func wait(for count: Int) async { await elements.wait { $0.count >= count } }
}

extension OperationQueue {
    /// Waits until all operations have finished. Where that never happens, `.watchdog` ends the tests.
    func finishAll() { waitUntilAllOperationsAreFinished() }
}
