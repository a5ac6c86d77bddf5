/// Q1-Q4, in two steps for each call: what it decides, and what it brings about.
final class QueueSpecification {
    private let state = CallTable()
    private let size: Int
    /// By the numbers of the calls that put or sent them, with their places in the order in which they entered.
    private var elements: [(number: Int, place: Int)] = []
    private var senders: [Int] = []
    private var getters: [Int] = []
    private var isFinished = false
    private var place = 0
    /// The elements that are on their way to a call, each with the call that delivers it; and the calls of `send` that
    /// have not ended though their elements have entered.
    private var deliveries: [(by: Int, element: (number: Int, place: Int), getter: Int)] = []
    private var entered: [(by: Int, sender: Int)] = []
    private var finisher: Int?
    /// The calls of `send`.
    private var sends: Set<Int> = []

    init(_ size: Int) { self.size = size }

    var run: ObjectRun {
        ObjectRun { [self] call, thread, number in
            if call == "end" { end(number) } else { decide(call, thread, number) }
        } results: { [self] in
            state.ends().filter { !sent($0) } + state.ends().filter { sent($0) }
                + ["\(elements.map { $0.number }), \(senders.count), \(getters.count)"]
        }
    }

    private func sent(_ line: String) -> Bool { sends.contains { line.hasPrefix("\($0) ") } }

    private func decide(_ call: String, _ thread: Int, _ number: Int) {
        switch call {
        case "put":
            state.results[number] = isFinished ? "refused" : "put"
            if !isFinished { enter(number) }
        case "send":
            sends.insert(number)
            (state.last[thread], state.results[number]) = (number, "pending")
            senders.append(number)
        case "get":
            (state.last[thread], state.results[number]) = (number, "pending")
            getters.append(number)
        case "tryGet":
            state.results[number] = elements.first.map { "\($0.number)" } ?? "none"
            if !elements.isEmpty { elements.removeFirst() }
        case "removeAll":
            state.results[number] = "\(elements.map { $0.number })"
            elements = []
        case "finish":
            if !isFinished { finisher = number }
            isFinished = true
        default: if let last = state.last[thread], state.results[last] == "pending" { cancel(last) }
        }
        settle(number)
        if call == "get" { refuse() }
    }

    private func enter(_ number: Int) {
        place += 1
        elements.append((number, place))
    }

    private func cancel(_ call: Int) {
        senders.removeAll { $0 == call }
        getters.removeAll { $0 == call }
        // Delivered, or on its way, an element cannot be withdrawn.
        if entered.contains(where: { $0.sender == call }), !elements.contains(where: { $0.number == call }) {
            return state.results[call] = "sent"
        }
        elements.removeAll { $0.number == call && sends.contains(call) }
        state.results[call] = "cancelled"
    }

    /// Lets elements enter, and sends them on their way to calls that wait.
    private func settle(_ call: Int) {
        while true {
            if !elements.isEmpty, !getters.isEmpty {
                deliveries.append((call, elements.removeFirst(), getters.removeFirst()))
            } else if !senders.isEmpty, elements.count < size || !getters.isEmpty {
                entered.append((call, senders[0]))
                enter(senders.removeFirst())
            } else {
                return
            }
        }
    }

    /// After the end, calls fail that no element can reach any more.
    private func refuse() {
        guard isFinished, finisher == nil, elements.isEmpty, deliveries.isEmpty else { return }
        for getter in getters { state.results[getter] = "finished" }
        getters = []
    }

    private func end(_ call: Int) {
        for (_, sender) in entered.filter({ $0.by == call }) where state.results[sender] == "pending" {
            state.results[sender] = "sent"
        }
        entered.removeAll { $0.by == call }
        while let index = deliveries.firstIndex(where: { $0.by == call }) {
            let (_, element, getter) = deliveries.remove(at: index)
            if state.results[getter] == "pending" {
                state.results[getter] = "\(element.number)"
            } else {
                // It returns to its place (Q2).
                elements.insert(
                    element, at: elements.firstIndex { $0.place > element.place } ?? elements.endIndex)
                settle(call)
            }
        }
        if finisher == call { finisher = nil }
        refuse()
    }
}
