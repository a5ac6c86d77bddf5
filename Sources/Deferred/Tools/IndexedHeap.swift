/// A priority queue: takes out the smallest element, or any other by its handle, each in time logarithmic in the number
/// of elements. Elements that compare as equal come in no particular order.
///
/// Its memory is in proportion to the elements that it contains, not to the greatest number that it ever did. No
/// operation releases an element: what leaves is returned.
package struct IndexedHeap<Element: Comparable> {
    /// Identifies an element in the heap. When that has left, another may get the same handle.
    package typealias Handle = Int

    /// A binary heap: no element is greater than those at twice its index, counted from 1.
    private var nodes: [(element: Element, handle: Handle)] = []
    /// The index of each element in `nodes`, by its handle.
    private var places: [Int] = []
    private var freeHandles: [Handle] = []

    package init() {}

    package var count: Int { nodes.count }
    package var isEmpty: Bool { nodes.isEmpty }

    /// The elements, in no particular order.
    package var elements: [Element] { nodes.map(\.element) }

    /// The smallest element.
    package var first: Element? { nodes.first?.element }

    /// The element that has this handle now, if there is one.
    package subscript(handle: Handle) -> Element? {
        guard places.indices.contains(handle) else { return nil }
        let place = places[handle]
        return place < nodes.count && nodes[place].handle == handle ? nodes[place].element : nil
    }

    package mutating func insert(_ element: Element) -> Handle {
        let handle = freeHandles.popLast() ?? places.count
        if handle == places.count { places.append(0) }
        nodes.append((element, handle))
        moveUp(nodes.count - 1)
        return handle
    }

    package mutating func popFirst() -> Element? { nodes.isEmpty ? nil : remove(at: 0) }

    /// Removes and returns the element that has this handle. It must be there.
    package mutating func remove(_ handle: Handle) -> Element { remove(at: places[handle]) }

    private mutating func remove(at place: Int) -> Element {
        let removed = nodes[place]
        let last = nodes.removeLast()
        freeHandles.append(removed.handle)
        if place < nodes.count {
            nodes[place] = last
            moveUp(place)
            moveDown(places[last.handle])
        }
        shrink()
        return removed.element
    }

    /// Gives back memory that the elements do not need any more. (The handles of those that are left keep their place.)
    private mutating func shrink() {
        if nodes.isEmpty, places.count > 64 { self = IndexedHeap() }
        if nodes.capacity > 4 * nodes.count + 64 { nodes = nodes.map { $0 } }
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

    private mutating func put(_ node: (element: Element, handle: Handle), at place: Int) {
        nodes[place] = node
        places[node.handle] = place
    }
}

extension IndexedHeap: Sendable where Element: Sendable {}
