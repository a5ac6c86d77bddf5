import TestSupport
import Testing

@testable import Deferred

@Suite("RecencyList", .watchdog)
struct RecencyListTests {
    final class Object: Sendable {}

    @Test("random uses and removals behave as an array does")
    func againstArray() { for seed in 0..<10 as Range<UInt64> { againstArray(seed: seed) } }

    private func againstArray(seed: UInt64) {
        var random = SplitMix64(seed)
        let objects = (0..<8).map { _ in Object() }
        var list = RecencyList<Object>()
        var model: [Object] = []
        for _ in 0..<1000 {
            let object = objects[Int(random.next() % 8)]
            switch random.next() % 4 {
            case 0:
                #expect((list.remove(object) != nil) == model.contains { $0 === object })
                model.removeAll { $0 === object }
            case 1:
                #expect(list.removeOldest() === (model.isEmpty ? nil : model.removeFirst()), "seed \(seed)")
            default:
                list.use(object)
                model.removeAll { $0 === object }
                model.append(object)
            }
        }
        while let oldest = list.removeOldest() { #expect(oldest === model.removeFirst()) }
        #expect(model.isEmpty)
    }
}
