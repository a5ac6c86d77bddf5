import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct MulticastClosuresTests {
    private struct Refusal: Error {}
    private let askers = MulticastClosures<Int, any Error>()
    private let log = SharedLog<String>()
    private let owner = Owner()

    @discardableResult
    private func add(_ owner: AnyObject, _ name: String, on dispatcher: (any Dispatcher)? = nil) -> Bool {
        askers.add(
            owner,
            on: dispatcher,
            success: { [log] in log.add("\(name) got \($0)") },
            failure: { [log] in log.add("\(name) failed with \($0)") }
        )
    }

    @Test("MulticastClosures: completing calls each pair's success or failure once, in the order added")
    func completing() {
        add(owner, "a")
        add(owner, "b")
        askers.complete(with: .success(1))
        askers.complete(with: .success(2))
        #expect(log.all == ["a got 1", "b got 1"])
        add(owner, "c")
        askers.complete(with: .failure(Refusal()))
        #expect(log.all.last == "c failed with Refusal()")
    }

    @Test("MulticastClosures: only the first to ask returns true, until the pairs are taken")
    func firstAsker() {
        #expect(add(owner, "a"))
        #expect(!add(owner, "b"))
        askers.remove(owner)
        #expect(!add(owner, "c"), "the job is still in progress")
        _ = askers.take()
        #expect(add(owner, "d"))
        askers.removeAll()
        #expect(add(owner, "e"))
    }

    @Test("MulticastClosures: of many threads that ask at once, one is the first, and each is answered once")
    func askingFromThreads() {
        for _ in 0..<50 {
            let askers = MulticastClosures<Int, any Error>()
            let firsts = SharedLog<Int>()
            let answers = SharedLog<Int>()
            onThreads(4) { thread in
                let isFirst = askers.add(
                    owner, success: { _ in answers.add(thread) },
                    failure: { _ in Issue.record("no failure") })
                if isFirst { firsts.add(thread) }
            }
            askers.complete(with: .success(1))
            #expect(firsts.all.count == 1)
            #expect(answers.all.sorted() == [0, 1, 2, 3])
        }
    }

    @Test("MulticastClosures: pairs that are read stay, pairs that are taken don't")
    func readAndTake() {
        add(owner, "a")
        for pair in askers.elements { pair.succeed(1) }
        for pair in askers.elements { pair.fail(Refusal()) }
        #expect(askers.count == 1)
        let taken = askers.take()
        #expect(askers.count == 0)
        #expect(askers.take().isEmpty)
        for pair in taken { pair.succeed(2) }
        #expect(log.all == ["a got 1", "a failed with Refusal()", "a got 2"])
        #expect(taken[0].owner === owner)
    }

    @Test("MulticastClosures: a removed pair is not called, whether it waited, was taken or was queued")
    func removedPair() {
        let queue = ManualDispatcher()
        let owners = [Owner(), Owner(), Owner()]
        for (owner, name) in zip(owners, ["a", "b", "c"]) { add(owner, name, on: queue) }
        askers.remove(owners[0])
        let taken = askers.take()
        askers.remove(owners[1], on: ManualDispatcher())
        askers.remove(owners[1], on: queue)
        for pair in taken { pair.succeed(1) }
        #expect(queue.count == 1)
        askers.remove(owners[2])
        queue.run()
        #expect(log.all == [])
    }

    @Test(
        "MulticastClosures: closures are released when delivered, removed, dropped after taking, or with their owner"
    )
    func letGo() {
        func addProbe(_ owner: AnyObject) {
            let witness = ReleaseProbe(log)
            askers.add(owner, success: { _ in _ = witness }, failure: { _ in _ = witness })
        }
        addProbe(owner)
        askers.complete(with: .success(1))
        #expect(log.all.count == 1)
        addProbe(owner)
        askers.remove(owner)
        #expect(log.all.count == 2)
        addProbe(owner)
        _ = askers.take()
        #expect(log.all.count == 3)
        addProbe(Owner())
        #expect(askers.count == 0)
        #expect(log.all.count == 4)
        #expect(askers.registry.indexedCount == 0)
    }
}
