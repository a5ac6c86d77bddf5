import Deferred
import Dispatch
import Testing

@testable import Multicast

@Suite(.timeLimit(.minutes(20)))
struct MulticastClosuresTests {
    private struct Refusal: Error {}
    private final class Owner: Sendable {}

    private let askers = MulticastClosures<Int, any Error>()
    private let log = Log<String>()

    @discardableResult
    private func add(_ owner: AnyObject, _ name: String, on dispatcher: (any Dispatcher)? = nil) -> Bool {
        askers.add(
            owner,
            on: dispatcher,
            success: { [log] in log.append("\(name) got \($0)") },
            failure: { [log] in log.append("\(name) failed with \($0)") }
        )
    }

    @Test("MulticastClosures: completing calls each pair's success or failure once, in the order added")
    func completing() {
        let owner = Owner()
        add(owner, "a")
        add(owner, "b")
        askers.complete(with: .success(1))
        askers.complete(with: .success(2))
        #expect(log.entries == ["a got 1", "b got 1"])
        add(owner, "c")
        askers.complete(with: .failure(Refusal()))
        #expect(log.entries.last == "c failed with Refusal()")
        withExtendedLifetime(owner) {}
    }

    @Test("MulticastClosures: only the first to ask is told so, until the pairs are taken")
    func firstAsker() {
        let owner = Owner()
        #expect(add(owner, "a"))
        #expect(!add(owner, "b"))
        askers.remove(owner)
        #expect(!add(owner, "c"), "the job is under way still")
        _ = askers.take()
        #expect(add(owner, "d"))
        askers.removeAll()
        #expect(add(owner, "e"))
        withExtendedLifetime(owner) {}
    }

    @Test("MulticastClosures: of many threads that ask at once, one is the first, and each is answered once")
    func askingFromThreads() {
        for _ in 0..<50 {
            let askers = MulticastClosures<Int, any Error>()
            let owner = Owner()
            let firsts = Log<Int>()
            let answers = Log<Int>()
            onThreads(4) { thread in
                let isFirst = askers.add(
                    owner, success: { _ in answers.append(thread) },
                    failure: { _ in Issue.record("no failure") })
                if isFirst { firsts.append(thread) }
            }
            askers.complete(with: .success(1))
            #expect(firsts.entries.count == 1)
            #expect(answers.entries.sorted() == [0, 1, 2, 3])
            withExtendedLifetime(owner) {}
        }
    }

    @Test("MulticastClosures: pairs that are read stay, pairs that are taken don't")
    func readAndTake() {
        let owner = Owner()
        add(owner, "a")
        for pair in askers.pairs() { pair.succeed(1) }
        for pair in askers.pairs() { pair.fail(Refusal()) }
        #expect(askers.count == 1)
        let taken = askers.take()
        #expect(askers.count == 0)
        #expect(askers.take().isEmpty)
        for pair in taken { pair.succeed(2) }
        #expect(log.entries == ["a got 1", "a failed with Refusal()", "a got 2"])
        #expect(taken[0].owner === owner)
    }

    @Test("MulticastClosures: each pair is called on its dispatcher")
    func dispatchers() {
        let owner = Owner()
        let queue = HeldDispatcher()
        add(owner, "a", on: queue)
        add(owner, "b")
        askers.complete(with: .success(1))
        #expect(log.entries == ["b got 1"])
        queue.run()
        #expect(log.entries == ["b got 1", "a got 1"])
        withExtendedLifetime(owner) {}
    }

    @Test(
        "MulticastClosures: an owner that has gone is not called, whether its pair waited, was taken or was queued"
    )
    func ownerGone() {
        let queue = HeldDispatcher()
        var owners = [Owner(), Owner(), Owner()]
        for (owner, name) in zip(owners, ["a", "b", "c"]) { add(owner, name, on: queue) }
        owners.removeFirst()
        let taken = askers.take()
        #expect(taken.count == 2)
        owners.removeFirst()
        for pair in taken { pair.succeed(1) }
        #expect(queue.count == 2)
        owners.removeFirst()
        queue.run()
        #expect(log.entries == [])
        #expect(taken.allSatisfy { $0.owner == nil })
    }

    @Test("MulticastClosures: a removed pair is not called, whether it waited, was taken or was queued")
    func removedPair() {
        let queue = HeldDispatcher()
        let owners = [Owner(), Owner(), Owner()]
        for (owner, name) in zip(owners, ["a", "b", "c"]) { add(owner, name, on: queue) }
        askers.remove(owners[0])
        let taken = askers.take()
        askers.remove(owners[1], on: HeldDispatcher())
        askers.remove(owners[1], on: queue)
        for pair in taken { pair.succeed(1) }
        #expect(queue.count == 1)
        askers.remove(owners[2])
        queue.run()
        #expect(log.entries == [])
    }

    @Test("MulticastClosures: removing all reaches pairs that were taken")
    func removedAll() {
        let owner = Owner()
        let queue = HeldDispatcher()
        add(owner, "a", on: queue)
        askers.complete(with: .success(1))
        askers.removeAll()
        queue.run()
        #expect(log.entries == [])
        withExtendedLifetime(owner) {}
    }

    @Test("MulticastClosures: the owner is given to closures that want it, and kept alive while they run")
    func ownerGiven() {
        let holder = Holder()
        weak var witness: Owner?
        do {
            let owner = Owner()
            holder.held = owner
            witness = owner
            askers.add(
                owner,
                success: { [log] owner, value in
                    holder.held = nil
                    log.append("\(type(of: owner)) got \(value)")
                },
                failure: { _, _ in Issue.record("no failure") }
            )
        }
        askers.complete(with: .success(1))
        #expect(log.entries == ["Owner got 1"])
        #expect(witness == nil)
    }

    @Test(
        "MulticastClosures: closures are let go of when delivered, removed, dropped after taking, or with their owner"
    )
    func letGo() {
        let owner = Owner()
        func addWitness(_ owner: AnyObject) {
            let witness = Witness(log)
            askers.add(owner, success: { _ in _ = witness }, failure: { _ in _ = witness })
        }
        addWitness(owner)
        askers.complete(with: .success(1))
        #expect(log.entries.count == 1)
        addWitness(owner)
        askers.remove(owner)
        #expect(log.entries.count == 2)
        addWitness(owner)
        _ = askers.take()
        #expect(log.entries.count == 3)
        addWitness(Owner())
        #expect(askers.count == 0)
        #expect(log.entries.count == 4)
        #expect(askers.registry.indexedCount == 0)
        withExtendedLifetime(owner) {}
    }

    @Test("MulticastClosures: a closure may ask again; that waits for the next job")
    func askAgain() {
        let owner = Owner()
        askers.add(
            owner,
            success: { [askers, log] owner, value in
                log.append("first \(value)")
                askers.add(owner, success: { log.append("second \($0)") }, failure: { _ in })
            },
            failure: { _, _ in }
        )
        askers.complete(with: .success(1))
        #expect(log.entries == ["first 1"])
        askers.complete(with: .success(2))
        #expect(log.entries == ["first 1", "second 2"])
        withExtendedLifetime(owner) {}
    }
}
