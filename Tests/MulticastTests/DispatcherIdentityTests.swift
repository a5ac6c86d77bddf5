import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

struct DispatcherIdentityTests {
    private func isSame(_ first: any Dispatcher, _ second: any Dispatcher) -> Bool {
        isSameDispatcher(first, second, CallSite(fileID: #fileID, line: #line))
    }

    @Test("Removing by queue: `.main` and `.global()` are the same queue each time they are named")
    func sharedQueues() {
        #expect(isSame(DispatchQueue.main, DispatchQueue.main))
        #expect(isSame(DispatchQueue.global(), DispatchQueue.global()))
        #expect(!isSame(DispatchQueue.main, DispatchQueue.global()))
        #expect(!isSame(DispatchQueue.global(qos: .utility), DispatchQueue.global(qos: .background)))
    }

    @Test("Removing by queue: two queues of one label are two, also where one targets the other")
    func ownQueues() {
        let first = DispatchQueue(label: "same")
        let second = DispatchQueue(label: "same", target: first)
        #expect(isSame(first, first))
        #expect(!isSame(first, second))
        #expect(!isSame(second, first))
        #expect(!isSame(first, ManualDispatcher()))
    }
}
