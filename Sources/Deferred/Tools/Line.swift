/// A first-in, first-out line. What was taken out is released then, not when the line is.
struct Line<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var count: Int { elements.count - start }

    mutating func append(_ element: consuming Element) { elements.append(element) }

    mutating func removeFirst() -> Element? {
        guard start < elements.count else { return nil }
        let element = elements[start].take()
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: true)
            start = 0
        } else if start >= 64 && start * 2 >= elements.count {
            elements.removeSubrange(..<start)
            start = 0
        }
        return element
    }

    /// Removes and returns the elements after the first `count`.
    mutating func removeAll(after count: Int) -> [Element] {
        let later = elements[(start + count)...].compactMap(\.self)
        elements.removeSubrange((start + count)...)
        return later
    }
}
