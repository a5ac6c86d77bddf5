/// A line that one joins at the end, is called from at the front, and may leave from anywhere. Everything in
/// constant time on average, leaving in logarithmic time.
///
/// Nothing is let go in here: what leaves the line is given back, to be let go outside of the lock that
/// guards it.
struct WaitingLine<Element> {
    /// One's place in the line.
    typealias Ticket = UInt64

    /// In order of their tickets; nil for those who have left.
    private var places: [(ticket: Ticket, element: Element?)] = []
    /// The first place that may still be taken.
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
                close(ranks: front)
                return element
            }
        }
    }

    /// Takes the one with this ticket out, if it is still there.
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
        close(ranks: places.count - count)
        return element
    }

    /// Removes empty places when they are the greater part.
    private mutating func close(ranks empty: Int) {
        guard empty >= 32, empty > count else { return }
        if places.count - front == count {
            places.removeSubrange(..<front)
        } else {
            places.removeAll { $0.element == nil }
        }
        front = 0
    }
}

extension WaitingLine: Sendable where Element: Sendable {}
