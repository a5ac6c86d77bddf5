import Foundation
import Testing

@testable import Deferred

extension Rules {
    /// The transitions of a link's state, tried without threads, and the table that is generated from the code.
    @Suite("Link states") struct LinkStates {
        private typealias Phase = LinkState.Phase
        private typealias Event = LinkState.Event

        private static let allMarks = (0...UInt8.max).map { LinkState.Marks(rawValue: $0) }

        /// Runs the transitions of an event from a state, with all combinations of facts, and returns what they lead
        /// to.
        private static func results(of event: Event, in state: LinkState) -> [LinkState] {
            [false, true].map { fact in
                var state = state
                switch event {
                case .run: _ = state.run()
                case .wait: state.wait()
                case .bypass: state.bypass()
                case .dispatch: state.dispatch(isCancelled: fact)
                case .fail: _ = state.fail()
                case .follow: _ = state.follow(from: state.phase == .running ? .running : .source)
                case .abandon: _ = state.abandon(isFollowing: fact)
                case .settle: state = state.settled()
                }
                return state
            }
        }

        @Test("T1: each transition leads where the table says, whatever the marks")
        func transitions() {
            for event in Event.allCases {
                for phase in Phase.allCases {
                    guard let targets = LinkState.targets(of: event, in: phase) else { continue }
                    var reached: Set<Phase> = []
                    for marks in Self.allMarks {
                        let state = LinkState(phase, marks)
                        for result in Self.results(of: event, in: state) {
                            reached.insert(result.phase)
                            // What is ignored changes nothing.
                            if targets.isEmpty { #expect(result == state, "\(event) in \(phase)") }
                        }
                    }
                    // An abandonment is ignored where something else settles the source.
                    let expected = Set(targets).union(event == .abandon || targets.isEmpty ? [phase] : [])
                    #expect(reached == expected, "\(event) in \(phase)")
                }
            }
        }

        @Test("C5: a link that is interrupted or protected runs with the error once, others with the outcome")
        func interruptions() {
            for marks in Self.allMarks {
                var state = LinkState(.waiting, marks)
                #expect((state.run() == .withOutcome) == marks.isDisjoint(with: [.interrupted, .protected]))
                let (isInterrupted, isProtected) = state.takeInterruption()
                #expect(isInterrupted == marks.contains(.interrupted))
                #expect(isProtected == marks.contains(.protected))
                #expect(state.marks.isDisjoint(with: [.interrupted, .protected]))
                #expect(state.marks.contains(.wasProtected) || !marks.contains(.protected))
            }
        }

        @Test("C1, C5: a cancel fails a source, runs its canceller once, or stays if its root is protected")
        func sources() {
            for marks in Self.allMarks {
                for facts in 0..<16 {
                    let (hasList, hasCanceller) = (facts & 1 != 0, facts & 2 != 0)
                    let (isFollowing, mayStay) = (facts & 4 != 0, facts & 8 != 0)
                    var state = LinkState(.source, marks)
                    func cancel() -> LinkState.SourceCancel {
                        state.cancelSource(
                            hasList: hasList, hasCanceller: hasCanceller, isFollowing: isFollowing,
                            mayStay: mayStay)
                    }
                    let action = cancel()
                    let stays = [.claimCanceller, .stay, .cancelFollowed].contains(action)
                    #expect(!stays || mayStay)
                    #expect(action != .protectRoot || !mayStay)
                    #expect(state.marks.contains(.cancelled) || action == .protectRoot)
                    if action == .protectRoot { #expect(state == LinkState(.source, marks)) }
                    if action == .claimCanceller { #expect(cancel() == .stay) }
                    if marks.contains(.shielded) { #expect(action != .cancelFollowed) }
                }
            }
        }

        // MARK: The table

        private static func mover(_ event: Event) -> String {
            switch event {
            case .run:
                "`deliver`, the dispatcher's thread (`DispatchedStep`), `finishCancelling`, `detachPending`"
            case .wait: "`DrainLoop.wait`: its step returned a link to wait for"
            case .bypass: "`bypass`: the consumer waits in its place, and the link is released (L6)"
            case .dispatch: "`DispatchedStep.submit`"
            case .fail: "a cancel that has detached it from its upstream (`failDetached`)"
            case .follow: "`follow`; from `running` a detached link that waits for a nested one"
            case .abandon: "the release of the last reference that could complete it (`NestedWork`)"
            case .settle: "`storeOutcome` (from `complete` and `finish`), `settleAtEnd`"
            }
        }

        private static var table: String {
            var lines = ["| event | in | leads to | moved by |", "|---|---|---|---|"]
            for event in Event.allCases {
                var rows: [(to: String, from: [String])] = []
                for phase in Phase.allCases {
                    guard let targets = LinkState.targets(of: event, in: phase) else { continue }
                    let to = targets.isEmpty ? "ignored" : targets.map { "\($0)" }.joined(separator: ", ")
                    if let index = rows.firstIndex(where: { $0.to == to }) {
                        rows[index].from.append("\(phase)")
                    } else {
                        rows.append((to, ["\(phase)"]))
                    }
                }
                for (to, from) in rows {
                    let by = to == "ignored" ? "" : mover(event)
                    lines.append("| \(event) | \(from.joined(separator: ", ")) | \(to) | \(by) |")
                }
            }
            return lines.joined(separator: "\n")
        }

        @Test("The table of states in Documentation/Engine.md is that of the code")
        func documentation() throws {
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
            let page = root.appendingPathComponent("Documentation/Engine.md")
            let written = try String(contentsOf: page, encoding: .utf8)
            let start = try #require(written.range(of: "<!-- states -->\n")).upperBound
            let end = try #require(written.range(of: "\n<!-- end -->", range: start..<written.endIndex))
                .lowerBound
            var text = written
            text.replaceSubrange(start..<end, with: Self.table)
            if ProcessInfo.processInfo.environment["UPDATE_ENGINE"] != nil {
                try text.write(to: page, atomically: true, encoding: .utf8)
            } else {
                #expect(
                    written == text, "UPDATE_ENGINE=1 swift test --filter Rules/LinkStates writes it anew")
            }
        }
    }
}
