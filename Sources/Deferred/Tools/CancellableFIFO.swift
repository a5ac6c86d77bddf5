/// A first-in-first-out queue from which an element may also be removed out of order, by its ticket. Appending and
/// taking the first take constant time on average, removing and putting an element back logarithmic time.
///
/// No operation releases an element: what is removed is returned, so that the caller can release it outside of the
/// lock that protects the queue.
package struct CancellableFIFO<Element> {
    /// Identifies an element in the queue, and is its position: elements are in the order of their tickets.
    package typealias Ticket = UInt64
    package typealias Item = (ticket: Ticket, element: Element)

    fileprivate struct Returned: Comparable {
        let ticket: Ticket
        let element: Element

        static func < (a: Returned, b: Returned) -> Bool { a.ticket < b.ticket }
        static func == (a: Returned, b: Returned) -> Bool { a.ticket == b.ticket }
    }

    /// In order of their tickets; nil where an element was removed.
    private var places: [(ticket: Ticket, element: Element?)] = []
    /// The first place that may still have an element.
    private var front = 0
    /// How many places have an element.
    private var placedCount = 0
    /// Elements that came when others with higher tickets were in `places` already, and their own places were gone.
    private var returned = IndexedHeap<Returned>()
    private var lastTicket: Ticket = 0

    package init() {}

    package var count: Int { placedCount + returned.count }

    package var isEmpty: Bool { count == 0 }

    /// The elements, in order.
    package var elements: [Element] {
        let placed = places.compactMap(\.element)
        if returned.isEmpty { return placed }
        let all = places.compactMap { place in
            place.element.map { Returned(ticket: place.ticket, element: $0) }
        }
        return (all + returned.elements).sorted().map(\.element)
    }

    /// Returns the ticket for an element that is to be inserted later, behind those that have a ticket.
    package mutating func reserve() -> Ticket {
        lastTicket += 1
        return lastTicket
    }

    @discardableResult
    package mutating func append(_ element: Element) -> Ticket {
        let ticket = reserve()
        insert(element, at: ticket)
        return ticket
    }

    /// Inserts an element at the position of its ticket: one that was reserved, or that the element had before it
    /// was taken.
    package mutating func insert(_ element: Element, at ticket: Ticket) {
        if let last = places.last, last.ticket >= ticket {
            let place = place(of: ticket)
            guard place >= front, places[place].ticket == ticket else {
                return returned.insert(Returned(ticket: ticket, element: element), ticket)
            }
            places[place].element = element
        } else {
            places.append((ticket, element))
        }
        placedCount += 1
    }

    /// Returns the first element, and leaves it in the queue.
    package mutating func first() -> Element? {
        skipEmpty()
        let placed = front < places.count ? places[front] : nil
        guard let first = returned.first, first.ticket < placed?.ticket ?? .max else {
            return placed?.element
        }
        return first.element
    }

    package mutating func popFirst() -> Item? {
        skipEmpty()
        if let first = returned.first, front == places.count || first.ticket < places[front].ticket {
            return returned.popFirst().map { ($0.ticket, $0.element) }
        }
        guard front < places.count else { return nil }
        let ticket = places[front].ticket
        front += 1
        return take(at: front - 1).map { (ticket, $0) }
    }

    /// Whether the predicate, which is the library's own, is true of an element. They are asked in order, but for those
    /// that were put back, which come last.
    package mutating func contains(where predicate: (Element) -> Bool) -> Bool {
        skipEmpty()
        return places[front...].contains { $0.element.map(predicate) ?? false }
            || returned.elements.contains { predicate($0.element) }
    }

    private mutating func skipEmpty() {
        while front < places.count, places[front].element == nil { front += 1 }
    }

    /// Removes the element with this ticket, if it is still there.
    package mutating func remove(_ ticket: Ticket) -> Element? {
        let place = place(of: ticket)
        if place < places.count, places[place].ticket == ticket, let element = take(at: place) {
            return element
        }
        return returned.remove(ticket)?.element
    }

    /// Removes all elements, and returns them in order. Their tickets are not used again.
    package mutating func removeAll() -> [Element] {
        let all = elements
        let lastTicket = lastTicket
        self = CancellableFIFO()
        self.lastTicket = lastTicket
        return all
    }

    /// Removes the elements for which `isRemoved` is true, and returns them in order.
    package mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        var kept: [Item] = []
        while let item = popFirst() {
            if isRemoved(item.element) { removed.append(item.element) } else { kept.append(item) }
        }
        _ = removeAll()
        for item in kept { insert(item.element, at: item.ticket) }
        return removed
    }

    /// The index of the first place whose ticket is not lower.
    private func place(of ticket: Ticket) -> Int {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = low + (high - low) / 2
            if places[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Takes the element out of a place, and removes the empty places when they outnumber the others.
    private mutating func take(at place: Int) -> Element? {
        guard let element = places[place].element.take() else { return nil }
        placedCount -= 1
        let emptyCount = places.count - placedCount
        if emptyCount >= 32, emptyCount > placedCount {
            // An array of its own where most of the memory is not needed any more.
            if places.capacity > 4 * placedCount + 128 {
                places = places.filter { $0.element != nil }
            } else {
                places.removeAll { $0.element == nil }
            }
            front = 0
        }
        return element
    }
}

extension CancellableFIFO: Sendable where Element: Sendable {}

extension CancellableFIFO.Returned: Sendable where Element: Sendable {}
