/// A priority queue: takes out the smallest element, or any other by its number, each in time logarithmic in the count of
/// elements. Elements that compare as equal come in no particular order.
///
/// Its memory is in proportion to the elements that it contains, not to the greatest count that it ever had. No
/// operation releases an element: what leaves is returned.
package struct IndexedHeap<Element: Comparable> {
    /// Identifies an element, as its caller says.
    package typealias Number = UInt64

    /// A binary heap: no element is greater than those at twice its index, counted from 1. Each has a handle, so that
    /// moving it takes no look-up.
    private var nodes: [(element: Element, number: Number, handle: Int)] = []
    /// The index of each element in `nodes`, by its handle.
    private var places: [Int] = []
    private var freeHandles: [Int] = []
    private var handles: [Number: Int] = [:]

    package init() {}

    package var count: Int { nodes.count }
    package var isEmpty: Bool { nodes.isEmpty }

    /// The elements, in no particular order.
    package var elements: [Element] { nodes.map(\.element) }

    /// The smallest element.
    package var first: Element? { nodes.first?.element }

    /// Inserts an element with a number that no other has.
    package mutating func insert(_ element: Element, _ number: Number) {
        let handle = freeHandles.popLast() ?? places.count
        if handle == places.count { places.append(0) }
        handles[number] = handle
        nodes.append((element, number, handle))
        moveUp(nodes.count - 1)
    }

    package mutating func popFirst() -> Element? {
        guard let first = nodes.first else { return nil }
        handles[first.number] = nil
        return remove(at: 0)
    }

    /// Removes and returns the element with this number, if it is still there.
    package mutating func remove(_ number: Number) -> Element? {
        handles.removeValue(forKey: number).map { remove(at: places[$0]) }
    }

    private mutating func remove(at place: Int) -> Element {
        let removed = nodes[place]
        let last = nodes.removeLast()
        freeHandles.append(removed.handle)
        if place < nodes.count {
            nodes[place] = last
            moveUp(place)
            moveDown(places[last.handle])
        }
        if places.count > 4 * nodes.count + 64 { shrink() }
        return removed.element
    }

    /// Gives back memory that the elements do not need any more.
    private mutating func shrink() {
        nodes = nodes.enumerated().map { ($1.element, $1.number, $0) }
        places = Array(nodes.indices)
        freeHandles = []
        handles = Dictionary(uniqueKeysWithValues: nodes.lazy.map { ($0.number, $0.handle) })
    }

    private mutating func moveUp(_ start: Int) {
        var place = start
        let moved = nodes[start]
        while place > 0 {
            let parent = (place - 1) / 2
            guard moved.element < nodes[parent].element else { break }
            put(nodes[parent], at: place)
            place = parent
        }
        put(moved, at: place)
    }

    private mutating func moveDown(_ start: Int) {
        var place = start
        let moved = nodes[start]
        while 2 * place + 1 < nodes.count {
            var child = 2 * place + 1
            if child + 1 < nodes.count, nodes[child + 1].element < nodes[child].element { child += 1 }
            guard nodes[child].element < moved.element else { break }
            put(nodes[child], at: place)
            place = child
        }
        put(moved, at: place)
    }

    private mutating func put(_ node: (element: Element, number: Number, handle: Int), at place: Int) {
        nodes[place] = node
        places[node.handle] = place
    }
}

extension IndexedHeap: Sendable where Element: Sendable {}
