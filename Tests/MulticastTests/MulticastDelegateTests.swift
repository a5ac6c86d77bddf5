import Deferred
import Dispatch
import Testing

@testable import Multicast

@Suite(.timeLimit(.minutes(20)))
struct MulticastDelegateTests {
    private let delegates = MulticastDelegate<any Hearing>()
    private let log = Log<String>()

    @Test("MulticastDelegate: with no dispatcher, each is called before notify returns, in the order added")
    func atOnce() {
        let hearers = ["a", "b", "c"].map { Hearer($0, log) }
        for hearer in hearers { delegates.add(hearer, on: nil) }
        delegates.notify { $0.hear("1") }
        #expect(log.entries == ["a 1", "b 1", "c 1"])
        withExtendedLifetime(hearers) {}
    }

    @Test("MulticastDelegate: with nobody there, notify does nothing")
    func nobody() {
        delegates.notify { _ in Issue.record("nobody should be called") }
        #expect(delegates.count == 0)
    }

    @Test("MulticastDelegate: the same delegate added twice is called twice, also on two dispatchers")
    func twice() {
        let hearer = Hearer("a", log)
        let first = HeldDispatcher()
        let second = HeldDispatcher()
        delegates.add(hearer, on: nil)
        delegates.add(hearer, on: nil)
        delegates.add(hearer, on: first)
        delegates.add(hearer, on: second)
        delegates.notify { $0.hear("1") }
        #expect(log.entries.count == 2)
        first.run()
        second.run()
        #expect(log.entries == ["a 1", "a 1", "a 1", "a 1"])
        #expect(delegates.count == 4)
    }

    @Test("MulticastDelegate: each is called on its dispatcher, and notify waits for none")
    func dispatchers() {
        let key = DispatchSpecificKey<String>()
        let queues = ["one", "two"].map { name in
            let dispatcher = SerialDispatcher()
            dispatcher.queue.setSpecific(key: key, value: name)
            return dispatcher
        }
        let reacting = queues.map { _ in
            Reacting { [log] _, _ in log.append(DispatchQueue.getSpecific(key: key)!) }
        }
        queues[0].queue.suspend()
        for (delegate, queue) in zip(reacting, queues) { delegates.add(delegate, on: queue) }
        delegates.notify { $0.hear("") }
        queues[1].drain()
        queues[0].queue.resume()
        queues[0].drain()
        #expect(log.entries == ["two", "one"])
        withExtendedLifetime(reacting) {}
    }

    @Test("MulticastDelegate: calls on one queue come in the order of the notifies, and in the order added")
    func orderPerQueue() {
        let queue = SerialDispatcher()
        let hearers = ["a", "b"].map { Hearer($0, log) }
        for hearer in hearers { delegates.add(hearer, on: queue) }
        for number in 0..<200 { delegates.notify { $0.hear("\(number)") } }
        queue.drain()
        #expect(log.entries == (0..<200).flatMap { ["a \($0)", "b \($0)"] })
        withExtendedLifetime(hearers) {}
    }

    @Test(
        "MulticastDelegate: a queue's order holds though an earlier delegate notifies again when it is called"
    )
    func orderWhenNested() {
        let queue = HeldDispatcher()
        let echo = Reacting { [delegates] _, text in
            if text == "1" { delegates.notify { $0.hear("2") } }
        }
        let hearer = Hearer("a", log)
        delegates.add(echo, on: nil)
        delegates.add(hearer, on: queue)
        delegates.notify { $0.hear("1") }
        queue.run()
        #expect(log.entries == ["a 1", "a 2"])
        withExtendedLifetime((echo, hearer)) {}
    }

    @Test("MulticastDelegate: it holds nobody; one that has gone is skipped, and its place is freed")
    func gone() {
        let hearer = Hearer("a", log)
        delegates.add(hearer, on: nil)
        delegates.add(Hearer("b", log), on: nil)
        delegates.add(Hearer("c", log), on: HeldDispatcher())
        delegates.notify { $0.hear("1") }
        #expect(log.entries == ["a 1"])
        #expect(delegates.count == 1)
        #expect(delegates.registry.occupiedCount == 1)
        withExtendedLifetime(hearer) {}
    }

    @Test("MulticastDelegate: a delegate that dies between notify and its call is not called")
    func diesBeforeCall() {
        let queue = HeldDispatcher()
        var hearer: Hearer? = Hearer("a", log)
        delegates.add(hearer!, on: queue)
        delegates.notify { $0.hear("1") }
        weak let witness = hearer
        hearer = nil
        #expect(witness == nil, "what is queued does not keep it")
        queue.run()
        #expect(log.entries == [])
    }

    @Test(
        "MulticastDelegate: a delegate that is being called is kept alive until the call returns",
        arguments: [true, false])
    func keptDuringCall(atOnce: Bool) {
        let queue = HeldDispatcher()
        let holder = Holder()
        weak var witness: Reacting?
        do {
            let delegate = Reacting { [log] itself, _ in
                holder.held = nil
                log.append("still here \(itself === itself)")
            }
            holder.held = delegate
            witness = delegate
            delegates.add(delegate, on: atOnce ? nil : queue)
        }
        delegates.notify { $0.hear("1") }
        queue.run()
        #expect(log.entries == ["still here true"])
        #expect(witness == nil)
    }

    @Test("MulticastDelegate: a delegate may remove itself in its deinit, whoever lets go of it last")
    func removedInDeinit() {
        var leaving: Leaving? = Leaving(delegates, log)
        delegates.add(leaving!, on: nil)
        delegates.notify { $0.hear("1") }
        leaving = nil
        #expect(log.entries == ["leaving 1", "gone"])
        #expect(delegates.registry.occupiedCount == 0)
    }

    @Test("MulticastDelegate: that deinit may be run by the delivery itself")
    func deinitDuringDelivery() {
        let holder = Holder()
        holder.held = Leaving(delegates, log)
        delegates.add(holder.held as! Leaving, on: nil)
        let hearer = Hearer("a", log)
        delegates.add(hearer, on: nil)
        delegates.notify { delegate in
            holder.held = nil
            delegate.hear("1")
        }
        #expect(log.entries == ["leaving 1", "gone", "a 1"])
        #expect(delegates.registry.occupiedCount == 1)
        withExtendedLifetime(hearer) {}
    }

    @Test("MulticastDelegate: a new object at the address of one that has gone is not taken for it")
    func reusedAddress() {
        for round in 0..<100 {
            let delegate = Reacting { [log] _, text in log.append("\(round) \(text)") }
            delegates.add(delegate, on: nil)
        }
        let last = Reacting { [log] _, text in log.append("last \(text)") }
        delegates.add(last, on: nil)
        delegates.notify { $0.hear("1") }
        #expect(log.entries == ["last 1"])
        delegates.remove(last)
        #expect(delegates.count == 0)
    }

    @Test("MulticastDelegate: a value is refused with a message that names it and the place")
    func valueRefused() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any CustomStringConvertible>().add(42, on: nil)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("must be an object; Int, given to MulticastDelegate<"))
        #expect(message.contains("MulticastDelegateTests.swift"))
    }

    @Test("MulticastDelegate: an object is taken, whatever the protocol is bound to")
    func unboundProtocol() {
        let delegates = MulticastDelegate<any CustomStringConvertible>()
        let object = Described()
        delegates.add(object, on: nil)
        delegates.notify { [log] in log.append($0.description) }
        #expect(log.entries == ["described"])
        #expect(delegates.count { $0 is Described } == 1)
    }

    @Test(
        "MulticastDelegate: whatever the container, each is called as what it was added as, and kept by nothing"
    )
    func containers() {
        check(MulticastDelegate<any Hearing>()) { $0 }
        check(MulticastDelegate<any Hearing & CustomStringConvertible>()) { $0 }
        check(MulticastDelegate<Described>()) { $0 }
        check(MulticastDelegate<AnyObject>()) { $0 }
        check(MulticastDelegate<Any>()) { $0 }
    }

    #if !canImport(ObjectiveC)
    @Test("MulticastDelegate: an object in a box that can't be held weakly is refused with a message")
    func boxRefused() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any Error>().add(Described(), on: nil)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("can't hold a Described weakly"))
    }
    #endif

    private func check<Delegate>(_ delegates: MulticastDelegate<Delegate>, _ wrap: (Described) -> Delegate) {
        weak var witness: Described?
        do {
            let object = Described()
            witness = object
            delegates.add(wrap(object), on: nil)
            let called = Log<ObjectIdentifier>()
            for _ in 0..<3 {
                delegates.notify { delegate in
                    let described = delegate as Any as! any CustomStringConvertible
                    #expect(described.description == "described")
                    called.append(ObjectIdentifier(delegate as AnyObject))
                }
            }
            #expect(
                called.entries == Array(repeating: ObjectIdentifier(object), count: 3), "\(Delegate.self)")
            #expect(delegates.snapshot().count == 1)
        }
        #expect(witness == nil, "\(Delegate.self)")
        delegates.notify { _ in Issue.record("\(Delegate.self) should have gone") }
    }

    private final class Described: Hearing, CustomStringConvertible, Error {
        var description: String { "described" }

        func hear(_ text: String) {}
    }
}
