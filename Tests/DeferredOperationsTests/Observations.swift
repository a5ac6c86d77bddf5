import Foundation
import LoopbackServer
import Testing

/// Collects elements in order, from any thread.
final class Observations<Element: Sendable>: Sendable {
    private let elements = Watched<[Element]>([])

    func note(_ element: Element) { elements.update { $0.append(element) } }

    var all: [Element] { elements.value }

    /// Waits until so many elements have been noted.
    func wait(for count: Int) async { await elements.wait { $0.count >= count } }
}

extension OperationQueue {
    /// Does what `waitUntilAllOperationsAreFinished` does. Where that never returns, the test fails.
    func finishAll(sourceLocation: Testing.SourceLocation = #_sourceLocation) {
        let hasReturned = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            waitUntilAllOperationsAreFinished()
            hasReturned.signal()
        }
        let ending = hasReturned.wait(timeout: .now() + 200)
        #expect(ending == .success, "an operation never finishes", sourceLocation: sourceLocation)
    }
}
