/// A first-in-first-out queue from which an element may also be removed out of order, by its ticket. Appending and
/// taking the first take constant time on average, removing takes logarithmic time.
///
/// No operation releases an element: what is removed is returned, so that the caller can release it outside of the
/// lock that protects the queue.
package struct CancellableFIFO<Element> {
    /// Identifies an element in the queue, and is its position: elements are in the order of their tickets.
    package typealias Ticket = UInt64
    package typealias Item = (ticket: Ticket, element: Element)

    /// In order of their tickets; nil where an element was removed.
    private var places: [(ticket: Ticket, element: Element?)] = []
    /// The first place that may still have an element.
    private var front = 0
    private var lastTicket: Ticket = 0
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// The elements, in order.
    package var elements: [Element] { places.compactMap(\.element) }

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
        count += 1
        guard let last = places.last, last.ticket >= ticket else { return places.append((ticket, element)) }
        let place = place(of: ticket)
        if places[place].ticket == ticket {
            places[place].element = element
        } else {
            places.insert((ticket, element), at: place)
        }
        front = min(front, place)
    }

    package mutating func popFirst() -> Item? {
        guard let place = places[front...].firstIndex(where: { $0.element != nil }) else { return nil }
        front = place + 1
        let ticket = places[place].ticket
        return take(at: place).map { (ticket, $0) }
    }

    /// Removes the element with this ticket, if it is still there.
    package mutating func remove(_ ticket: Ticket) -> Element? {
        let place = place(of: ticket)
        return place < places.count && places[place].ticket == ticket ? take(at: place) : nil
    }

    /// Removes all elements, and returns them in order. Their tickets are not used again.
    package mutating func removeAll() -> [Element] {
        let all = elements
        (places, front, count) = ([], 0, 0)
        return all
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
        count -= 1
        let emptyCount = places.count - count
        if emptyCount >= 32, emptyCount > count {
            places.removeAll { $0.element == nil }
            front = 0
        }
        return element
    }
}

extension CancellableFIFO: Sendable where Element: Sendable {}
