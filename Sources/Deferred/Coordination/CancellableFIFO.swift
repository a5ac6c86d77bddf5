/// A first-in-first-out queue from which an element may also be removed out of order, by its ticket. Appending and
/// taking the first take constant time on average, removing takes logarithmic time.
///
/// No operation releases an element: what is removed is returned, so that the caller can release it outside of the
/// lock that protects the queue.
struct CancellableFIFO<Element> {
    /// Identifies an element in the queue.
    typealias Ticket = UInt64

    /// In order of their tickets; nil where an element was removed.
    private var places: [(ticket: Ticket, element: Element?)] = []
    /// The first place that may still have an element.
    private var front = 0
    private var nextTicket: Ticket = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    @discardableResult
    mutating func append(_ element: Element) -> Ticket {
        let ticket = nextTicket
        nextTicket += 1
        places.append((ticket, element))
        count += 1
        return ticket
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        while true {
            let element = places[front].element.take()
            front += 1
            if let element {
                count -= 1
                compact(emptyPlaces: front)
                return element
            }
        }
    }

    /// Removes the element with this ticket, if it is still there.
    mutating func remove(_ ticket: Ticket) -> Element? {
        var (low, high) = (front, places.count)
        while low < high {
            let middle = low + (high - low) / 2
            if places[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        guard low < places.count, places[low].ticket == ticket, let element = places[low].element.take()
        else {
            return nil
        }
        count -= 1
        compact(emptyPlaces: places.count - count)
        return element
    }

    /// Removes the empty places when they outnumber the others.
    private mutating func compact(emptyPlaces: Int) {
        guard emptyPlaces >= 32, emptyPlaces > count else { return }
        if places.count - front == count {
            places.removeSubrange(..<front)
        } else {
            places.removeAll { $0.element == nil }
        }
        front = 0
    }
}

extension CancellableFIFO: Sendable where Element: Sendable {}
