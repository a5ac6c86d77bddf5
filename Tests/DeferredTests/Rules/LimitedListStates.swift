import Testing

@testable import Deferred

extension Rules {
    /// The transitions of a list with a limit, without threads.
    @Suite("Limited list states") struct LimitedListStates {
        enum Event: Sendable {
            /// A result is asked for; the n-th is settled or cancelled, or leaves its inputs.
            case join, stop(Int), leave
            case releaseHandle, cancel
            /// A call begins to start inputs, and does its next step.
            case begin, step
            /// What a step found out or did.
            case element, end, started(Int), ended(Int), waits, granted, refused
        }

        private struct Refused: Error {}

        private static let site = DeferredDiagnostic.Location(fileID: #fileID, line: #line)

        private static func answers(_ limit: Int?, claimed: Int, _ events: [Event]) -> [String] {
            let semaphore = DeferredSemaphore(1)
            var state = LimitedListState(
                InputSequence([Int](), nil) { _ in .newSource(site) }, free: limit ?? .max,
                needsPermits: limit == nil, claimedCount: claimed)
            var lists: [ListObserver] = []
            let links = (0..<3).map { _ in Link.newSource(site) }
            return events.map { event in
                switch event {
                case .join:
                    lists.append(
                        ListObserver(
                            .all, count: 0, addsInputs: true, consumesErrors: true, cancelsRemaining: false,
                            site
                        ) { _, _ in .value(0) })
                    state.join((lists[lists.count - 1], nil))
                    return "joins"
                case .stop(let index): return state.stop(lists[index]) == nil ? "had stopped" : "stops"
                case .leave: return state.leave() == nil ? "nothing" : "the sequence"
                case .releaseHandle:
                    state.releaseHandle()
                    return "released"
                case .cancel: return state.cancel() == nil ? "nothing" : "the sequence"
                case .begin: return "\(state.beginStarting())"
                case .step:
                    return switch state.nextStep() {
                    case .observe(let links, _): "observe \(links.count)"
                    case .release(let links, let inputs):
                        inputs == nil ? "release \(links.count)" : "release the sequence"
                    case .cancelAcquiring: "cancel acquiring"
                    case .close(let lists, let cutOff, let missing):
                        "close \(lists.count)"
                            + (cutOff.map { ", \(name(of: $0)), \(missing) missing" } ?? "")
                    case .takeElement: "take an element"
                    case .acquirePermit: "acquire"
                    case .start(let lists, let permit):
                        "start for \(lists.count)" + (permit == nil ? "" : " with a permit")
                    case .returnPermit: "return the permit"
                    case .end: "end"
                    }
                case .element:
                    state.noteElement()
                    return "noted"
                case .end:
                    state.noteEnd()
                    return "noted"
                case .started(let index):
                    state.noteStart(of: links[index])
                    return "noted"
                case .ended(let index):
                    return state.noteEnd(of: ObjectIdentifier(links[index])) == nil ? "nothing" : "its link"
                case .waits:
                    state.waitForPermit(.never())
                    return "waits"
                case .granted:
                    guard let permit = semaphore.tryAcquire() else { return "no permit" }
                    return "\(state.acquire(.success(permit)).1)"
                case .refused: return "\(state.acquire(.failure(Refused())).1)"
                }
            }
        }

        private static let rows: [(limit: Int?, claimed: Int, [(Event, String)])] = [
            // Two inputs, one at a time; the sequence ends, and the list with it.
            (
                1, 2,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "start for 1"),
                    (.started(0), "noted"), (.begin, "isInProgress"), (.step, "end"),
                    (.ended(0), "its link"), (.begin, "begins"), (.step, "start for 1"),
                    (.started(1), "noted"), (.step, "end"),
                    (.ended(1), "its link"), (.begin, "begins"), (.step, "start for 1"), (.end, "noted"),
                    (.step, "close 1"), (.step, "release the sequence"), (.step, "end"),
                ]
            ),
            // A result that is asked for later observes what was started before.
            (
                2, 5,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "start for 1"),
                    (.started(0), "noted"),
                    (.join, "joins"), (.step, "observe 1"), (.step, "start for 2"), (.started(1), "noted"),
                    (.step, "end"),
                ]
            ),
            // Nothing needs further inputs.
            (
                2, 5,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "start for 1"),
                    (.started(0), "noted"),
                    (.stop(0), "stops"), (.stop(0), "had stopped"), (.step, "release the sequence"),
                    (.step, "end"),
                    (.leave, "the sequence"),
                ]
            ),
            // D5: cancelled, it starts no more, and says what is missing.
            (
                1, 5,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "start for 1"),
                    (.started(0), "noted"),
                    (.cancel, "the sequence"), (.step, "close 1, cancelled, 4 missing"),
                    (.step, "release the sequence"),
                    (.step, "end"),
                ]
            ),
            // K2: with the last handle, what was kept for further results is released.
            (
                1, 5,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "start for 1"),
                    (.started(0), "noted"),
                    (.releaseHandle, "released"), (.step, "release 1"), (.step, "end"),
                    (.ended(0), "its link"),
                    (.begin, "begins"), (.step, "start for 1"),
                ]
            ),
            // With a semaphore: an element first where nothing is in progress, then a permit.
            (
                nil, 2,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "take an element"),
                    (.element, "noted"),
                    (.step, "acquire"), (.waits, "waits"), (.step, "end"),
                    (.granted, "begins"), (.step, "start for 1 with a permit"), (.started(0), "noted"),
                    (.step, "acquire"), (.step, "end"),
                ]
            ),
            (
                nil, 2,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "take an element"),
                    (.end, "noted"),
                    (.step, "close 1"), (.step, "release the sequence"), (.step, "end"),
                ]
            ),
            // A stop cancels the wait; a permit that comes all the same is given back.
            (
                nil, 2,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "take an element"),
                    (.element, "noted"),
                    (.step, "acquire"), (.waits, "waits"), (.step, "end"), (.stop(0), "stops"),
                    (.begin, "begins"),
                    (.step, "cancel acquiring"), (.granted, "isUnneeded"), (.step, "release the sequence"),
                    (.step, "end"),
                ]
            ),
            (
                nil, 2,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "take an element"),
                    (.element, "noted"),
                    (.step, "acquire"), (.granted, "isInProgress"), (.stop(0), "stops"),
                    (.step, "return the permit"),
                ]
            ),
            // A permit that is refused ends the list with that error.
            (
                nil, 2,
                [
                    (.join, "joins"), (.begin, "begins"), (.step, "observe 0"), (.step, "take an element"),
                    (.element, "noted"),
                    (.step, "acquire"), (.refused, "isInProgress"), (.step, "close 1, Refused(), 2 missing"),
                ]
            ),
        ]

        @Test("D5: each event leads where the table says", arguments: rows.indices)
        func transitions(row: Int) {
            let (limit, claimed, steps) = Self.rows[row]
            let answers = Self.answers(limit, claimed: claimed, steps.map(\.0))
            for (step, (answer, expected)) in zip(answers, steps.map(\.1)).enumerated() {
                #expect(answer == expected, "step \(step), \(steps[step].0)")
            }
        }
    }
}
