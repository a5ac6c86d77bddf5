import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct MulticastDelegateTests {
    private let audience = Audience()
    private var delegates: MulticastDelegate<any HearingDelegate> { audience.delegates }
    private var log: SharedLog<String> { audience.log }

    @Test("MulticastDelegate: the same delegate added twice is called twice, also on two dispatchers")
    func twice() {
        let (first, second) = (ManualDispatcher(), ManualDispatcher())
        let hearer = audience.add("a")[0]
        delegates.add(hearer, on: nil)
        delegates.add(hearer, on: first)
        delegates.add(hearer, on: second)
        audience.notify("1")
        #expect(log.all.count == 2)
        first.run()
        second.run()
        #expect(log.all == ["a 1", "a 1", "a 1", "a 1"])
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
            ReactingDelegate { [log] _, _ in log.add(DispatchQueue.getSpecific(key: key)!) }
        }
        queues[0].queue.suspend()
        for (delegate, queue) in zip(reacting, queues) { delegates.add(delegate, on: queue) }
        audience.notify("")
        queues[1].drain()
        queues[0].queue.resume()
        queues[0].drain()
        #expect(log.all == ["two", "one"])
        withExtendedLifetime(reacting) {}
    }

    @Test(
        "MulticastDelegate: the order per queue is kept though an earlier delegate notifies again when it is called"
    )
    func orderWhenNested() {
        let queue = ManualDispatcher()
        let echo = ReactingDelegate { [delegates] _, text in
            if text == "1" { delegates.notify { $0.hear("2") } }
        }
        audience.add(echo)
        audience.add("a", on: queue)
        audience.notify("1")
        queue.run()
        #expect(log.all == ["a 1", "a 2"])
    }

    @Test("MulticastDelegate: a value is refused with a message that names it and the place")
    func valueRefused() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any CustomStringConvertible>().add(42, on: nil)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("must be an object; Int, added to MulticastDelegate<"))
        #expect(message.contains("MulticastDelegateTests.swift"))
    }

    @Test(
        "MulticastDelegate: whatever the container, each is called as what it was added as, and kept by nothing"
    )
    func containers() {
        check(MulticastDelegate<any HearingDelegate>()) { $0 }
        check(MulticastDelegate<any HearingDelegate & CustomStringConvertible>()) { $0 }
        check(MulticastDelegate<Described>()) { $0 }
        check(MulticastDelegate<AnyObject>()) { $0 }
        check(MulticastDelegate<Any>()) { $0 }
    }

    #if !canImport(ObjectiveC)
    @Test("MulticastDelegate: an object in a box that can't be referenced weakly is refused with a message")
    func boxRefused() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any Error>().add(Described(), on: nil)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("can't refer to a Described weakly"))
    }
    #endif

    private func check<Delegate>(_ delegates: MulticastDelegate<Delegate>, _ wrap: (Described) -> Delegate) {
        weak var witness: Described?
        do {
            let object = Described()
            witness = object
            delegates.add(wrap(object), on: nil)
            let called = SharedLog<ObjectIdentifier>()
            for _ in 0..<3 {
                delegates.notify { delegate in
                    let described = delegate as Any as! any CustomStringConvertible
                    #expect(described.description == "described")
                    called.add(ObjectIdentifier(delegate as AnyObject))
                }
            }
            #expect(
                called.all == Array(repeating: ObjectIdentifier(object), count: 3), "\(Delegate.self)")
            #expect(delegates.elements.count == 1)
        }
        #expect(witness == nil, "\(Delegate.self)")
        delegates.notify { _ in Issue.record("\(Delegate.self) should were deallocated") }
    }

    private final class Described: HearingDelegate, CustomStringConvertible, Error {
        var description: String { "described" }

        func hear(_ text: String) {}
    }

    // MARK: Removing

    @Test("MulticastDelegate: a dispatcher that is a value is known by ==")
    func removeFromEqualDispatcher() {
        let queue = ManualDispatcher()
        let hearer = audience.add("a", on: Numbered(number: 1, queue: queue))[0]
        delegates.remove(hearer, on: Numbered(number: 2, queue: queue))
        #expect(delegates.count == 1)
        delegates.remove(hearer, on: Numbered(number: 1, queue: queue))
        #expect(delegates.count == 0)
    }

    @Test("MulticastDelegate: removing by a dispatcher that can't be compared is refused with a message")
    func incomparableDispatcher() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let delegates = MulticastDelegate<any HearingDelegate>()
            let hearer = LoggingDelegate("a", SharedLog())
            delegates.add(hearer, on: Incomparable())
            delegates.remove(hearer, on: Incomparable())
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("make Incomparable a class or Equatable"))
        #expect(message.contains("MulticastDelegateTests.swift"), "M3: the caller's place")
    }

    @Test("MulticastDelegate: removing all leaves nobody, and later ones are called")
    func removeAll() {
        let queue = ManualDispatcher()
        let hearers = audience.add("a", "b", on: queue)
        audience.notify("1")
        delegates.removeAll()
        queue.run()
        #expect(log.all == [])
        delegates.add(hearers[1], on: nil)
        audience.notify("2")
        #expect(log.all == ["b 2"])
    }

    @Test(
        "MulticastDelegate: one who is removed by an earlier one is not called any more, one who is added not yet"
    )
    func changesDuringNotify() {
        let victim = LoggingDelegate("victim", log)
        let newcomer = LoggingDelegate("newcomer", log)
        let first = ReactingDelegate { [delegates] _, _ in
            delegates.remove(victim)
            if delegates.count == 1 { delegates.add(newcomer, on: nil) }
        }
        delegates.add(first, on: nil)
        delegates.add(victim, on: nil)
        audience.notify("1")
        #expect(log.all == [])
        audience.notify("2")
        #expect(log.all == ["newcomer 2"])
        withExtendedLifetime(first) {}
    }

    @Test(
        "MulticastDelegate: elements are delegates and dispatchers in the order added, count(where:) chooses"
    )
    func elements() {
        let hearer = LoggingDelegate("a", log)
        let reacting = ReactingDelegate { _, _ in }
        let queue = ManualDispatcher()
        delegates.add(hearer, on: queue)
        delegates.add(reacting, on: nil)
        delegates.add(hearer, on: nil)
        let elements = delegates.elements
        #expect(
            elements.map { ObjectIdentifier($0.delegate) }
                == [hearer, reacting, hearer].map(ObjectIdentifier.init))
        #expect(elements[0].dispatcher as? ManualDispatcher === queue)
        #expect(elements[1].dispatcher == nil)
        #expect(delegates.count { $0 is LoggingDelegate } == 2)
        delegates.removeAll()
        #expect(elements.count == 3)
    }

    private struct Numbered: Dispatcher, Equatable {
        let number: Int
        let queue: ManualDispatcher

        func dispatch(_ work: @escaping @Sendable () -> Void) {
            queue.dispatch(work)
        }

        static func == (first: Numbered, second: Numbered) -> Bool {
            first.number == second.number
        }
    }

    struct Incomparable: Dispatcher {
        func dispatch(_ work: @escaping @Sendable () -> Void) {
            work()
        }
    }
}
