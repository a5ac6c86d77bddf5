import Deferred
import Foundation
import Testing

/// Collects elements in order, from any thread.
final class Observations<Element: Sendable>: @unchecked Sendable {
    // `@unchecked Sendable` is sound: the variables are touched only under `lock`.
    private let lock = NSLock()
    private var elements: [Element] = []
    private var waiters: [(count: Int, resolver: Resolver<Void>)] = []

    func note(_ element: Element) {
        let ready = lock.withLock {
            elements.append(element)
            let ready = waiters.filter { $0.count <= elements.count }
            waiters.removeAll { $0.count <= elements.count }
            return ready
        }
        for waiter in ready { waiter.resolver.resolve() }
    }

    var all: [Element] { lock.withLock { elements } }

    /// Waits until so many elements have been noted.
    func wait(for count: Int) async {
        let (deferred, resolver) = Deferred<Void>.withResolver()
        let isThere = lock.withLock {
            if elements.count < count { waiters.append((count, resolver)) }
            return elements.count >= count
        }
        if isThere { resolver.resolve() }
        try? await deferred.value
    }
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
