import TestSupport
import Testing

@testable import Deferred

@Suite("IndexedHeap", .watchdog)
struct IndexedHeapTests {
    @Test("random inserting, taking and removing behaves as a sorted array does")
    func againstArray() { for seed in 0..<20 { againstArray(seed: seed) } }

    private func againstArray(seed: Int) {
        var random = SplitMix64(UInt64(seed))
        var heap = IndexedHeap<Int>()
        var model: [(element: Int, number: UInt64)] = []
        for number in 0..<2000 {
            switch random.next() % 8 {
            case 0, 1, 2:
                // Distinct, so that the order is certain.
                let element = Int(random.next() % 1000) * 10_000 + number
                model.append((element, UInt64(number)))
                heap.insert(element, UInt64(number))
            case 3, 4:
                let smallest = model.indices.min { model[$0].element < model[$1].element }
                #expect(heap.first == smallest.map { model[$0].element }, "seed \(seed)")
                #expect(heap.popFirst() == smallest.map { model.remove(at: $0).element }, "seed \(seed)")
            case 5, 6:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                let (element, number) = model.remove(at: index)
                #expect(heap.remove(number) == element && heap.remove(number) == nil, "seed \(seed)")
            default:
                // Empties it now and then, which gives its memory back.
                guard random.next() % 64 == 0 else { continue }
                while let next = heap.popFirst() { model.removeAll { $0.element == next } }
            }
            #expect(heap.count == model.count && heap.isEmpty == model.isEmpty, "seed \(seed)")
        }
        #expect(heap.elements.sorted() == model.map(\.element).sorted())
    }
}
