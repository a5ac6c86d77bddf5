import TestSupport
import Testing

@testable import Deferred

@Suite("Line", .watchdog)
struct LineTests {
    @Test("random appending and taking behaves as an array does", arguments: 0..<20)
    func againstArray(seed: Int) {
        var random = SplitMix64(UInt64(seed))
        var line = Line<Int>()
        var model: [Int] = []
        for number in 0..<1000 {
            switch random.next() % 8 {
            case 0...3:
                line.append(number)
                model.append(number)
            case 4...6:
                #expect(line.removeFirst() == (model.isEmpty ? nil : model.removeFirst()), "seed \(seed)")
            default:
                let count = Int.random(in: 0...model.count, using: &random)
                #expect(line.removeAll(after: count) == Array(model[count...]), "seed \(seed)")
                model.removeSubrange(count...)
            }
            #expect(line.count == model.count, "seed \(seed)")
        }
    }

    @Test("an element that was taken out is released by its receiver, and not with the line")
    func releasing() {
        final class Token: Sendable {}
        var line = Line<Token>()
        weak var token: Token?
        do {
            let first = Token()
            token = first
            line.append(first)
            line.append(Token())
        }
        #expect(token != nil)
        _ = line.removeFirst()
        #expect(token == nil)
        #expect(line.count == 1)
    }
}
