import TestSupport
import Testing

@testable import Deferred

/// The transitions of a semaphore's state, without threads.
@Suite("DeferredSemaphore.State", .watchdog)
struct SemaphoreStateTests {
    typealias State = DeferredSemaphore.State

    /// A limit, how many units are in use, and how many those ask for that wait.
    struct Given: Sendable, CustomTestStringConvertible {
        let limit: Int
        let used: Int
        let waiting: [Int]

        init(_ limit: Int, used: Int = 0, waiting: [Int] = []) {
            (self.limit, self.used, self.waiting) = (limit, used, waiting)
        }

        var testDescription: String { "\(used) of \(limit) used, waiting \(waiting)" }

        /// The state, with the tickets of those that wait.
        func make() -> (State, [CancellableFIFO<DeferredSemaphore.Waiter>.Ticket]) {
            // With more units than there will be, so that everything can be taken and asked for.
            var state = State(limit: 1_000)
            if used > 0 { _ = state.take(used) }
            let rest = state.free
            if rest > 0 { _ = state.take(rest) }
            let tickets = waiting.map { units in
                guard case .waits(let ticket) = state.request(units) else { fatalError("nothing is free") }
                _ = state.enqueue(
                    (units, Deferred<DeferredSemaphore.Permit>.withResolver().resolver), at: ticket)
                return ticket
            }
            state.takeBack(rest)
            _ = state.setLimit(limit)
            return (state, tickets)
        }
    }

    enum Event: Sendable {
        case request(Int), take(Int), enqueue(Int), leave(Int), beginGranting, next, takeBack(Int), setLimit(
            Int)
        case removeAll

        func answer(_ state: inout State, _ tickets: [CancellableFIFO<DeferredSemaphore.Waiter>.Ticket])
            -> String
        {
            switch self {
            case .request(let units):
                return switch state.request(units) {
                case .granted: "granted"
                case .waits: "waits"
                case .refused: "refused"
                }
            case .take(let units): return "\(state.take(units))"
            case .enqueue(let units):
                let resolver = Deferred<DeferredSemaphore.Permit>.withResolver().resolver
                return switch state.enqueue((units, resolver), at: 1_000) {
                case .waits: "waits"
                case .refused: "refused"
                }
            case .leave(let index):
                return switch state.leave(index < tickets.count ? tickets[index] : 1_001) {
                case .left(let waiter): "left \(waiter?.units ?? 0)"
                case .leftBeforeOthers(let waiter): "left \(waiter?.units ?? 0) before others"
                }
            case .beginGranting: return "\(state.beginGranting(on: 2))"
            case .next:
                return switch state.next(on: 2) {
                case .grants(let waiter): "grants \(waiter.units)"
                case .ends: "ends"
                }
            case .takeBack(let units):
                state.takeBack(units)
                return "done"
            case .setLimit(let limit): return "refuses \(state.setLimit(limit).map(\.waiter.units))"
            case .removeAll: return "removes \(state.removeAll().map(\.units))"
            }
        }
    }

    private static let rows: [(Given, Event, String, free: Int, waiting: [Int])] = [
        (Given(2), .request(1), "granted", 1, []),
        (Given(2), .request(2), "granted", 0, []),
        (Given(2), .request(3), "refused", 2, []),
        (Given(2), .request(0), "refused", 2, []),
        (Given(0), .request(1), "refused", 0, []),
        (Given(2, used: 2), .request(1), "waits", 0, []),
        (Given(2, used: 1), .request(2), "waits", 1, []),
        // Q1: nobody is overtaken.
        (Given(2, used: 1, waiting: [2]), .request(1), "waits", 1, [2]),
        (Given(2, used: 1, waiting: [2]), .take(1), "unavailable", 1, [2]),
        (Given(2), .take(2), "taken", 0, []),
        (Given(2), .take(3), "unavailable", 2, []),
        (Given(2), .take(0), "unavailable", 2, []),
        (Given(2, used: 2), .take(1), "unavailable", 0, []),
        (Given(2, used: 2), .enqueue(2), "waits", 0, [2]),
        (Given(1, used: 1), .enqueue(2), "refused", 0, []),
        (Given(-1), .enqueue(1), "refused", 0, []),
        // Q2: one that leaves may have been all that the others waited for.
        (Given(3, used: 2, waiting: [2, 1]), .leave(0), "left 2 before others", 1, [1]),
        (Given(3, used: 3, waiting: [2, 1]), .leave(0), "left 2", 0, [1]),
        (Given(3, used: 2, waiting: [2]), .leave(0), "left 2", 1, []),
        (Given(3, used: 3, waiting: [1]), .leave(1), "left 0", 0, [1]),
        (Given(2), .beginGranting, "begins", 2, []),
        (Given(2, used: 1, waiting: [1, 1]), .next, "grants 1", 0, [1]),
        (Given(2, used: 1, waiting: [2, 1]), .next, "ends", 1, [2, 1]),
        (Given(2), .next, "ends", 2, []),
        (Given(2, used: 2), .takeBack(1), "done", 1, []),
        (Given(1, used: 3), .takeBack(1), "done", 0, []),
        (Given(2, used: 2, waiting: [1, 2, 1]), .setLimit(1), "refuses [2]", 0, [1, 1]),
        (Given(2, used: 2, waiting: [1, 2]), .setLimit(0), "refuses [1, 2]", 0, []),
        (Given(2, used: 2, waiting: [1, 2]), .setLimit(4), "refuses []", 2, [1, 2]),
        (Given(2, used: 2, waiting: [1, 2]), .removeAll, "removes [1, 2]", 0, []),
    ]

    @Test("Q1, Q2: each event leads where the table says", arguments: rows.indices)
    func transitions(row: Int) {
        let (given, event, answer, free, waiting) = Self.rows[row]
        var (state, tickets) = given.make()
        #expect(event.answer(&state, tickets) == answer, "\(given), \(event)")
        #expect(state.free == free, "\(given), \(event)")
        #expect(state.waiters.elements.map(\.units) == waiting, "\(given), \(event)")
    }

    @Test("F6: a thread that grants permits grants those that are released meanwhile, until there is none")
    func granting() {
        var (state, _) = Given(1, waiting: [1]).make()
        #expect(state.beginGranting(on: 2) == .begins)
        #expect(state.beginGranting(on: 2) == .isInProgress)
        #expect(state.beginGranting(on: 4) == .begins)
        guard case .grants = state.next(on: 2), case .ends = state.next(on: 2) else {
            Issue.record("there is one permit")
            return
        }
        #expect(state.beginGranting(on: 2) == .begins)
        #expect(state.beginGranting(on: 4) == .isInProgress)
    }
}
