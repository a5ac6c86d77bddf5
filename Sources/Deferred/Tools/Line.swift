/// A first-in, first-out line.
///
/// Elements are appended to one array and taken from the end of another, which is the first one reversed when it was empty: each
/// is moved twice, and no place of one that was taken out is left behind.
struct Line<Element> {
    /// The elements that come first, the first of them at the end.
    private var first: [Element] = []
    /// Those that come after them, in their order.
    private var rest: [Element] = []

    var count: Int { first.count + rest.count }

    mutating func append(_ element: consuming Element) { rest.append(element) }

    mutating func removeFirst() -> Element? {
        if first.isEmpty {
            // One that is alone stays where it is: the other array then needs no memory.
            if rest.count < 2 { return rest.popLast() }
            swap(&first, &rest)
            // Sound: the array's own elements. Its buffer moves what it exchanges; the array would retain and release it.
            first.withUnsafeMutableBufferPointer { $0.reverse() }
        }
        return first.removeLast()
    }

    /// Removes and returns the elements after the first `count`.
    mutating func removeAll(after count: Int) -> [Element] {
        let kept = Swift.max(0, count - first.count)
        var later = Array(rest[kept...])
        rest.removeSubrange(kept...)
        if count < first.count {
            let removed = 0..<(first.count - count)
            later.insert(contentsOf: first[removed].reversed(), at: 0)
            first.removeSubrange(removed)
        }
        return later
    }
}
