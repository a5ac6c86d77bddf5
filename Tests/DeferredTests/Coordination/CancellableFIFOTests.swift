import TestSupport
import Testing

@testable import Deferred

@Suite("CancellableFIFO", .watchdog)
struct CancellableFIFOTests {
    @Test("random appending, taking and removing behaves as an array does")
    func againstArray() { for seed in 0..<20 { againstArray(seed: seed) } }

    private func againstArray(seed: Int) {
        var random = SplitMix64(UInt64(seed))
        var line = CancellableFIFO<Int>()
        var model: [(ticket: UInt64, element: Int)] = []
        var taken = model
        for number in 0..<2000 {
            switch random.next() % 8 {
            case 0, 1:
                model.append((line.append(number), number))
            case 2:
                let first = model.isEmpty ? nil : model.removeFirst()
                #expect(line.popFirst()?.element == first?.element, "seed \(seed)")
                if let first { taken.append(first) }
            case 3:
                taken.append((line.reserve(), number))
            case 4:
                // Returned, or inserted late: to the position of its ticket.
                guard let item = taken.indices.randomElement(using: &random).map({ taken.remove(at: $0) })
                else { continue }
                line.insert(item.element, at: item.ticket)
                model.insert(item, at: model.firstIndex { $0.ticket > item.ticket } ?? model.count)
            case 5 where number % 50 == 0:
                let removed = line.removeAll { $0 % 3 == 0 }
                #expect(removed == model.map(\.element).filter { $0 % 3 == 0 }, "seed \(seed)")
                model.removeAll { $0.element % 3 == 0 }
            default:
                let ticket = model.randomElement(using: &random)?.ticket ?? 7
                let index = model.firstIndex { $0.ticket == ticket }
                #expect(line.remove(ticket) == index.map { model.remove(at: $0).element }, "seed \(seed)")
                #expect(line.remove(ticket) == nil, "seed \(seed)")
            }
            #expect(line.first() == model.first?.element, "seed \(seed)")
            #expect(line.count == model.count && line.elements == model.map(\.element), "seed \(seed)")
        }
        while let next = line.popFirst() { #expect(next.element == model.removeFirst().element) }
        #expect(model.isEmpty)
    }
}
