/// Which operations of a run ended before which began.
struct RealTimeOrder: Hashable {
    private var ended: UInt64 = 0
    /// For each operation those that ended before it.
    private var before: [UInt64] = Array(repeating: 0, count: 3 * RealTimeOrder.longest)
    private static let longest = 6

    mutating func begin(_ thread: Int, _ index: Int) { before[thread * Self.longest + index] = ended }
    mutating func end(_ thread: Int, _ index: Int) { ended |= 1 << (thread * Self.longest + index) }

    /// Whether all that is in order here is so in `other`.
    func isContained(in other: RealTimeOrder) -> Bool {
        zip(before, other.before).allSatisfy { $0 & ~$1 == 0 }
    }
}

extension RealTimeOrder: CustomStringConvertible {
    var description: String {
        func threads(_ operations: UInt64, besides thread: Int) -> [String] {
            (0..<3).filter { $0 != thread }.compactMap { other in
                let count = (operations >> (other * Self.longest) & 0x3f).nonzeroBitCount
                return count == 0 ? nil : "\(count) of thread \(other)"
            }
        }
        let lines = before.indices.compactMap { index in
            let (thread, operation) = (index / Self.longest, index % Self.longest)
            let earlier = threads(before[index], besides: thread).joined(separator: " and ")
            return earlier.isEmpty ? nil : "operation \(operation) of thread \(thread) after \(earlier)"
        }
        return lines.isEmpty ? "all threads at once" : lines.joined(separator: ", ")
    }
}
