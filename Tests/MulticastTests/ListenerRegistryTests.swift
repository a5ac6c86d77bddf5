import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

/// Compares the registry with a slow and obvious one, under random operations.
@Suite(.watchdog)
struct ListenerRegistryTests {
    private let site = CallSite(fileID: #fileID, line: #line)

    /// Soundness of `@unchecked Sendable`: as for `Listener`.
    private final class NumberedListener: Listener, @unchecked Sendable {
        let number: Int

        init(_ owner: AnyObject, _ number: Int) {
            self.number = number
            super.init(owner)
        }
    }

    private struct Expected {
        let number: Int
        let owner: ObjectIdentifier
        let dispatcher: ManualDispatcher?
        let priority: Int
    }

    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            var word = state
            word = (word ^ (word >> 33)) &* 0xff51_afd7_ed55_8ccd
            return word ^ (word >> 33)
        }
    }

    @Test("Registry: under random use it agrees with an array that is searched")
    func model() { for seed in 1...40 as ClosedRange<UInt64> { model(seed: seed) } }

    private func model(seed: UInt64) {
        var random = Generator(state: seed)
        let registry = ListenerRegistry()
        let dispatchers = [ManualDispatcher(), ManualDispatcher(), nil]
        var owners = (0..<12).map { _ in Owner() }
        var expected: [Expected] = []
        var number = 0
        for step in 0..<400 {
            let index = Int.random(in: owners.indices, using: &random)
            let dispatcher = dispatchers.randomElement(using: &random)!
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<11:
                number += 1
                let entry = Expected(
                    number: number, owner: ObjectIdentifier(owners[index]), dispatcher: dispatcher,
                    priority: seed.isMultiple(of: 2) ? 0 : Int.random(in: -2...2, using: &random))
                expected.append(entry)
                registry.add(
                    Registration(
                        NumberedListener(owners[index], number), on: dispatcher, priority: entry.priority))
            case 11..<15:
                registry.remove(ObjectIdentifier(owners[index]), on: dispatcher, site)
                expected.removeAll {
                    $0.owner == ObjectIdentifier(owners[index])
                        && (dispatcher == nil || $0.dispatcher === dispatcher)
                }
            case 15..<18:
                expected.removeAll { $0.owner == ObjectIdentifier(owners[index]) }
                owners[index] = Owner()
            case 18:
                registry.sweep()
                #expect(registry.indexedCount == expected.count, "seed \(seed), step \(step)")
                #expect(registry.occupiedCount == expected.count, "seed \(seed), step \(step)")
            default:
                guard step.isMultiple(of: 7) else { continue }
                registry.removeAll()
                expected = []
            }
            let found = registry.snapshot().map(\.listener)
                .filter { $0.recipient(in: registry) != nil }
                .map { ($0 as! NumberedListener).number }
            let wanted = expected.sorted { ($1.priority, $0.number) < ($0.priority, $1.number) }.map(\.number)
            #expect(found == wanted, "seed \(seed), step \(step)")
        }
        withExtendedLifetime(owners) {}
    }

    @Test("Registry: those that were deallocated are swept as it grows, though nobody posts")
    func growth() {
        let registry = ListenerRegistry()
        let owner = Owner()
        registry.add(Registration(Listener(owner), on: nil))
        for _ in 0..<Extent.depth { registry.add(Registration(Listener(Owner()), on: nil)) }
        #expect(registry.occupiedCount < 200)
        #expect(registry.indexedCount < 200)
        withExtendedLifetime(owner) {}
    }

    @Test("Registry: what was taken is found by its owner until it is removed")
    func taken() {
        let registry = ListenerRegistry()
        let owner = Owner()
        #expect(registry.add(Registration(Listener(owner), on: nil))?.isFirst == true)
        #expect(registry.add(Registration(Listener(owner), on: nil))?.isFirst == false)
        let taken = registry.take()
        #expect(taken.count == 2)
        #expect(registry.occupiedCount == 0)
        #expect(registry.indexedCount == 2)
        registry.remove([taken[0].listener])
        #expect(registry.indexedCount == 1)
        #expect(registry.add(Registration(Listener(owner), on: nil))?.isFirst == true)
        registry.remove(ObjectIdentifier(owner), on: nil, site)
        #expect(registry.indexedCount == 0)
        #expect(taken[0].listener.isRemoved && taken[1].listener.isRemoved)
    }

    @Test("Registry's state: what is retained reaches a listener from the post or when it is added, once")
    func retained() {
        var slots = ListenerSlots()
        let owner = Owner()
        var message: (any AnyObject & Sendable)? = RetainedMessage(1)
        #expect(slots.add(Registration(Listener(owner), on: nil))?.retained == nil)
        #expect(slots.snapshot(exchanging: &message).count == 1)
        #expect(message == nil, "none was retained before")
        #expect(slots.add(Registration(Listener(owner), on: nil))?.retained is RetainedMessage<Int>)
        _ = slots.removeAll()
        #expect(slots.occupied == 0 && slots.retained is RetainedMessage<Int>)
        #expect(slots.retained.take() is RetainedMessage<Int> && slots.retained == nil)
    }

    @Test("Registry's state: once finished it has no listeners, admits none, and knows weakly who ended")
    func finished() {
        var slots = ListenerSlots()
        let owner = Owner()
        let listener = Listener(owner)
        var message: (any AnyObject & Sendable)? = RetainedMessage(1)
        _ = slots.add(Registration(listener, on: ManualDispatcher(), priority: 1))
        _ = slots.add(Registration(Listener(owner), on: nil))
        _ = slots.snapshot(exchanging: &message)
        do {
            let before = slots.finish()
            #expect(before.occupied == 2 && before.retained != nil)
        }
        #expect(slots.isFinished && slots.occupied == 0 && slots.index.isEmpty && slots.retained == nil)
        let ended = slots.ended(of: listener.identity)
        #expect(ended.map { $0.listener.object === listener } == [true, false])
        #expect(ended.map { $0.listener.object == nil } == [false, true])
        #expect(slots.add(Registration(Listener(owner), on: nil)) == nil)
        #expect(slots.finish().occupied == 0 && slots.ended(of: listener.identity).count == 2)
        message = RetainedMessage(2)
        #expect(slots.snapshot(exchanging: &message).isEmpty && slots.retained == nil)
    }
}
