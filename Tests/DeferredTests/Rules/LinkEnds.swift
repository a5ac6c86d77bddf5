import Testing

@testable import Deferred

extension Rules {
    /// What the end of a link makes of the cancels that were left in it, and what settles a list, without threads.
    @Suite("Link ends") struct LinkEnds {
        typealias Cancels = LinkEnd.Cancels

        @Test(
            "C1, C5, C7, U1: requests end with an answer, and begin again otherwise, whatever the marks"
        )
        func cancels() {
            let allMarks = (0...UInt8.max).map { LinkState.Marks(rawValue: $0) }
            for phase in [LinkState.Phase.source, .running] {
                for marks in allMarks {
                    for facts in 0..<8 {
                        let (hasRequests, isAnswered) = (facts & 1 != 0, facts & 2 != 0)
                        let isCancellers = facts & 4 != 0
                        let cancels = Cancels(
                            LinkState(phase, marks), hasRequests: hasRequests, isAnswered: isAnswered,
                            isCancellers: isCancellers)
                        // A canceller's own thread answers.
                        let ends = isAnswered || isCancellers && marks.contains(.cancellerRuns)
                        #expect((cancels.requests == .end) == ends)
                        // A source that was cancelled, or a link whose step ran when a cancel came that nobody answered.
                        let isCancelled =
                            marks.contains(.cancelled) || phase == .running && hasRequests && !ends
                        #expect(cancels.isOfCancelledWork == isCancelled)
                        // What is followed is cancelled with the source, unless its canceller has answered, or shields it.
                        let answersItself = isCancellers && marks.contains(.cancellerRuns)
                        #expect(
                            cancels.includesFollowed
                                == (marks.contains(.cancelled) && !marks.contains(.shielded)
                                    && !answersItself))
                    }
                }
            }
        }
    }

    /// The transitions of a list's state, without threads.
    @Suite("List states") struct ListStates {
        typealias State = ListObserver.State

        enum Event: Sendable {
            case value(Int), accepted(Int), failure(Int), attached, cancel, leave, cycle, close, cutOff
        }

        /// Returns what each event leads to, of a list of two inputs or one to which inputs are added.
        private static func answers(
            _ rule: ListObserver.Rule, addsInputs: Bool, _ events: [Event]
        ) -> [String] {
            let site = DeferredDiagnostic.Location(fileID: #fileID, line: #line)
            var state = State(
                Link(.source, .none, site), count: addsInputs ? 0 : 2, addsInputs: addsInputs,
                owner: nil)
            func describe(_ next: State.Next) -> String { "\(next)" }
            func receive(_ index: Int, isFailure: Bool, isAccepted: Bool = false) -> String {
                let outcome: Payload = isFailure ? .failure(CancellationError()) : .value(index)
                let observer = Link(.settled, outcome, site)
                var asked = rule
                if case .untilAccepted = rule { asked = .untilAccepted { _ in isAccepted } }
                if addsInputs {
                    _ = state.beginAdding()
                    _ = state.endAdding(observer, at: index, by: rule, cancelsRemaining: false)
                }
                return
                    switch state.receive(
                        asked.contribution(of: observer, at: index), at: index, by: observer, rule: rule,
                        in: nil)
                {
                case .isLate: "late"
                case .counts: "counts"
                case .settles: "settles"
                }
            }
            var answers = events.map { event -> String in
                switch event {
                case .value(let index): return receive(index, isFailure: false)
                case .accepted(let index): return receive(index, isFailure: false, isAccepted: true)
                case .failure(let index): return receive(index, isFailure: true)
                case .attached:
                    var none: [Link] = []
                    return describe(state.endAttaching(&none, by: rule))
                case .cancel: return "\(state.cancel(nil))"
                case .leave: return describe(state.leaveEarly())
                case .cycle:
                    state.failForCycle()
                    return "failed"
                case .close: return describe(state.close(by: rule, cutOff: nil, missing: []))
                case .cutOff: return describe(state.close(by: rule, cutOff: CancellationError(), missing: []))
                }
            }
            switch state.settle() {
            case .isLate: answers.append("-")
            case .settles(_, let decision, _, _):
                let outcome =
                    switch decision {
                    case .all: "all"
                    case .input(_, let index): "input \(index)"
                    case .failure: "failure"
                    case .error(let error): Rules.name(of: error)
                    }
                answers.append(outcome)
            }
            return answers
        }

        private static let given: [(rule: ListObserver.Rule, [Event], [String])] = [
            (.all, [.attached, .value(0), .failure(1)], ["nothing", "counts", "settles", "all"]),
            (.all, [.value(0), .failure(1), .attached], ["counts", "counts", "settle", "all"]),
            (.untilFailure, [.attached, .value(0), .value(1)], ["nothing", "counts", "settles", "all"]),
            (.untilFailure, [.attached, .failure(1), .value(0)], ["nothing", "settles", "late", "failure"]),
            (.untilFailure, [.failure(1), .attached], ["counts", "settle", "failure"]),
            (.untilValue, [.attached, .failure(0), .value(1)], ["nothing", "counts", "settles", "input 1"]),
            (
                .untilValue, [.attached, .failure(0), .failure(1)],
                ["nothing", "counts", "settles", "failure"]
            ),
            (.untilSettled, [.attached, .failure(1), .value(0)], ["nothing", "settles", "late", "input 1"]),
            (
                .untilAccepted { _ in true }, [.attached, .value(0), .accepted(1)],
                ["nothing", "counts", "settles", "input 1"]
            ),
            (
                .untilAccepted { _ in true }, [.attached, .value(0), .value(1)],
                ["nothing", "counts", "settles", "all"]
            ),
            (
                .untilAccepted { _ in true }, [.attached, .failure(0), .accepted(1)],
                ["nothing", "settles", "late", "failure"]
            ),
            (
                .each { _, _ in }, [.attached, .failure(0), .leave, .value(1)],
                ["nothing", "counts", "settle", "late", "all"]
            ),
            (
                .all, [.attached, .cancel, .value(0), .cancel],
                ["nothing", "isAccepted", "late", "isBeingSettled", "-"]
            ),
        ]

        @Test("D1 to D4: each event of a list's inputs leads where the table says", arguments: given.indices)
        func ofGivenInputs(row: Int) {
            let (rule, events, answers) = Self.given[row]
            #expect(Self.answers(rule, addsInputs: false, events) == answers, "\(rule), \(events)")
        }

        private static let added: [(rule: ListObserver.Rule, [Event], [String])] = [
            (.all, [.close], ["settle", "all"]),
            (.all, [.value(0), .close], ["counts", "settle", "all"]),
            (.all, [.value(0), .cutOff], ["counts", "settle", "all"]),
            (.untilFailure, [.value(0), .cutOff], ["counts", "settle", "cancelled"]),
            (.untilFailure, [.failure(0), .close], ["settles", "nothing", "failure"]),
            (.untilValue, [.close], ["settle", "empty"]),
            (.untilValue, [.failure(0), .close], ["counts", "settle", "failure"]),
            (.untilValue, [.failure(0), .cutOff], ["counts", "settle", "cancelled"]),
            (.untilValue, [.value(0), .failure(1)], ["settles", "late", "input 0"]),
            (.untilSettled, [.close], ["settle", "empty"]),
            (.untilAccepted { _ in true }, [.value(0), .close], ["counts", "settle", "all"]),
            (.untilAccepted { _ in true }, [.accepted(0), .close], ["settles", "nothing", "input 0"]),
            (.all, [.cycle, .value(0)], ["failed", "late", "cycle"]),
            (.all, [.cancel, .close], ["isAccepted", "nothing", "-"]),
        ]

        @Test(
            "D5, L5: each event of a list with a limit leads where the table says", arguments: added.indices)
        func ofAddedInputs(row: Int) {
            let (rule, events, answers) = Self.added[row]
            #expect(Self.answers(rule, addsInputs: true, events) == answers, "\(rule), \(events)")
        }
    }
}
