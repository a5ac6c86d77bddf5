import Deferred
import Dispatch
import Testing

@testable import Multicast

struct DispatcherIdentityTests {
    @Test("Removing by queue: `.main` and `.global()` are the same queue each time they are named")
    func sharedQueues() {
        #expect(isSameDispatcher(DispatchQueue.main, DispatchQueue.main))
        #expect(isSameDispatcher(DispatchQueue.global(), DispatchQueue.global()))
        #expect(!isSameDispatcher(DispatchQueue.main, DispatchQueue.global()))
        #expect(
            !isSameDispatcher(DispatchQueue.global(qos: .utility), DispatchQueue.global(qos: .background)))
    }

    @Test("Removing by queue: two queues of one label are two, also where one targets the other")
    func ownQueues() {
        let first = DispatchQueue(label: "same")
        let second = DispatchQueue(label: "same", target: first)
        #expect(isSameDispatcher(first, first))
        #expect(!isSameDispatcher(first, second))
        #expect(!isSameDispatcher(second, first))
        #expect(!isSameDispatcher(first, HeldDispatcher()))
    }

    @Test("Removing by queue: a delegate added on .main is removed from .main, not from elsewhere")
    func removing() {
        let delegates = MulticastDelegate<any Hearing>()
        let hearer = Hearer("a", Log())
        delegates.add(hearer, on: .main)
        delegates.add(hearer, on: .global())
        delegates.remove(hearer, on: .main)
        #expect(delegates.count == 1)
        delegates.remove(hearer, on: .main)
        #expect(delegates.count == 1)
        delegates.remove(hearer, on: .global())
        #expect(delegates.count == 0)
    }
}
