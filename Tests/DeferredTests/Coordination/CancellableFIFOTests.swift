import Testing

@testable import Deferred

@Suite("CancellableFIFO")
struct CancellableFIFOTests {
    @Test("random appending, taking and removing behaves as an array does", arguments: 0..<20)
    func againstArray(seed: Int) {
        var random = Generator(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1)
        var line = CancellableFIFO<Int>()
        var model: [(ticket: UInt64, element: Int)] = []
        for number in 0..<2000 {
            switch random.next() % 5 {
            case 0, 1:
                model.append((line.append(number), number))
            case 2:
                #expect(
                    line.popFirst() == (model.isEmpty ? nil : model.removeFirst().element), "seed \(seed)")
            default:
                let ticket = model.randomElement(using: &random)?.ticket ?? 7
                let index = model.firstIndex { $0.ticket == ticket }
                #expect(line.remove(ticket) == index.map { model.remove(at: $0).element }, "seed \(seed)")
                #expect(line.remove(ticket) == nil, "seed \(seed)")
            }
            #expect(line.count == model.count)
        }
        while let next = line.popFirst() { #expect(next == model.removeFirst().element) }
        #expect(model.isEmpty)
    }

    private struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }
}
