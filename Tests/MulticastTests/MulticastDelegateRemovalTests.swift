import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

@Suite(.timeLimit(.minutes(5)))
struct MulticastDelegateRemovalTests {
    private let audience = Audience()
    private var delegates: MulticastDelegate<any HearingDelegate> { audience.delegates }
    private var log: SharedLog<String> { audience.log }

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
        #expect(message.contains("MulticastDelegateRemovalTests.swift"), "M3: the caller's place")
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
        "MulticastDelegate: snapshot lists delegates and dispatchers in the order added, count(where:) chooses"
    )
    func snapshot() {
        let hearer = LoggingDelegate("a", log)
        let reacting = ReactingDelegate { _, _ in }
        let queue = ManualDispatcher()
        delegates.add(hearer, on: queue)
        delegates.add(reacting, on: nil)
        delegates.add(hearer, on: nil)
        let snapshot = delegates.snapshot()
        #expect(
            snapshot.map { ObjectIdentifier($0.delegate) }
                == [hearer, reacting, hearer].map(ObjectIdentifier.init))
        #expect(snapshot[0].dispatcher as? ManualDispatcher === queue)
        #expect(snapshot[1].dispatcher == nil)
        #expect(delegates.count { $0 is LoggingDelegate } == 2)
        delegates.removeAll()
        #expect(snapshot.count == 3)
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
