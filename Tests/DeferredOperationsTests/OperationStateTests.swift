import Testing

@testable import DeferredOperations

/// The transitions of an operation's state, without threads.
@Suite("OperationState")
struct OperationStateTests {
    enum Event: String, CaseIterable, Sendable {
        case request, requestDispatched, decide, cancel, start, endWork
        case endNothing, endDecision, endSettling, endStopping, endDispatching

        func answer(_ state: inout OperationState) -> String {
            switch self {
            case .request: "\(state.request(isDispatched: false))"
            case .requestDispatched: "\(state.request(isDispatched: true))"
            case .decide: "\(state.decide())"
            case .cancel: "\(state.cancel())"
            case .start: "\(state.start())"
            case .endWork: "\(state.endWork())"
            case .endNothing: "\(state.end([]))"
            case .endDecision: "\(state.end(.decision))"
            case .endSettling: "\(state.end(.settling))"
            case .endStopping: "\(state.end(.stopping))"
            case .endDispatching: "\(state.end(.dispatching))"
            }
        }
    }

    /// How a state is reached, and what each event that may come then leads to.
    private static let rows: [(path: [Event], answers: [Event: String])] = [
        (
            [],
            [
                .request: "accepted", .decide: "isFirst", .cancel: "decides", .start: "works",
                .endNothing: "nothing",
            ]
        ),
        ([.request], [.request: "refused", .decide: "isFirst", .cancel: "decides", .start: "works"]),
        (
            [.start],
            [.request: "refused", .start: "isRepeated", .cancel: "stopsWhenReturned", .endWork: "isIdle"]
        ),
        // Decided while the work runs: that may be settled at once, and finishes when the work has returned.
        ([.request, .start, .decide], [.decide: "isLate", .cancel: "isLate", .endDecision: "settle"]),
        (
            [.request, .start, .decide, .endDecision],
            [.endNothing: "nothing", .endSettling: "nothing", .endWork: "isIdle"]
        ),
        ([.request, .start, .decide, .endDecision, .endSettling, .endWork], [.endNothing: "finish"]),
        ([.request, .start, .decide, .endDecision, .endWork, .endNothing], [.endSettling: "finish"]),
        // The work has returned, and ends later.
        ([.request, .start, .endWork], [.endNothing: "nothing", .decide: "isFirst", .cancel: "stops"]),
        (
            [.request, .start, .endWork, .cancel],
            [.endDecision: "settle", .endStopping: "nothing", .decide: "isLate"]
        ),
        ([.request, .start, .endWork, .cancel, .endStopping, .endDecision], [.endSettling: "finish"]),
        ([.request, .start, .endWork, .cancel, .endDecision, .endSettling], [.endStopping: "finish"]),
        // Cancelled while the work runs: the thread that runs it stops it.
        ([.request, .start, .cancel], [.endWork: "stops", .endDecision: "settle", .cancel: "isLate"]),
        (
            [.request, .start, .cancel, .endDecision, .endSettling, .endWork],
            [.endNothing: "nothing", .endStopping: "finish"]
        ),
        // O2: cancelled before it is started, it finishes when its queue has started it.
        ([.request, .cancel], [.endDecision: "settle", .start: "isDecided", .cancel: "isLate"]),
        ([.request, .cancel, .endDecision, .endSettling], [.start: "isDecided", .endNothing: "nothing"]),
        (
            [.request, .cancel, .endDecision, .endSettling, .start],
            [.endNothing: "finish", .start: "isRepeated"]
        ),
        // Cancelled before it is requested.
        ([.cancel, .endDecision], [.request: "accepted", .endNothing: "nothing", .start: "isDecided"]),
        ([.cancel, .endDecision, .request], [.endNothing: "settle"]),
        // O1: delivered on a dispatcher, it finishes when the dispatcher has run, or released, what was submitted.
        ([.requestDispatched, .start, .endWork, .decide], [.endDecision: "settle", .request: "refused"]),
        (
            [.requestDispatched, .start, .endWork, .decide, .endDecision],
            [.endDispatching: "nothing", .endSettling: "nothing"]
        ),
        (
            [.requestDispatched, .start, .endWork, .decide, .endDecision, .endSettling],
            [.endDispatching: "finish"]
        ),
        (
            [.requestDispatched, .start, .endWork, .decide, .endDecision, .endDispatching],
            [.endSettling: "finish"]
        ),
        // Never requested.
        ([.start, .endWork, .decide], [.endDecision: "finish"]),
    ]

    @Test("O1, O2: each event leads where the table says", arguments: rows.indices)
    func transitions(row: Int) {
        let (path, answers) = Self.rows[row]
        for (event, answer) in answers {
            var state = OperationState()
            for event in path { _ = event.answer(&state) }
            #expect(event.answer(&state) == answer, "\(event) after \(path)")
        }
    }

    @Test("O2: whatever comes, it is settled by one and finished by one")
    func once() { for seed in 0..<200 as Range<UInt64> { once(seed: seed) } }

    private func once(seed: UInt64) {
        var random = seed &* 6_364_136_223_846_793_005 &+ 1
        func next(_ count: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((random >> 33) % UInt64(count))
        }
        var state = OperationState()
        var due: [Event] = [.request, .cancel, .decide, .start].filter { _ in next(4) > 0 }
        if !due.contains(.start) { due.append(.start) }
        if !due.contains(.cancel), !due.contains(.decide) { due.append(.decide) }
        var counts = ["settle": 0, "finish": 0]
        while !due.isEmpty {
            let event = due.remove(at: next(due.count))
            let answer = event.answer(&state)
            counts[answer]? += 1
            switch (event, answer) {
            case (_, "settle"): due.append(.endSettling)
            case (_, "finish"): state.finish()
            case (.decide, "isFirst"), (.cancel, "decides"), (.cancel, "stopsWhenReturned"):
                due.append(.endDecision)
            case (.cancel, "stops"): due += [.endDecision, .endStopping]
            case (.request, "accepted"), (.start, "isDecided"): due.append(.endNothing)
            case (.start, "works"): due.append(.endWork)
            case (.endWork, "isIdle"): due.append(.endNothing)
            case (.endWork, "stops"): due.append(.endStopping)
            default: break
            }
        }
        #expect(state.isFinished && state.remaining == [], "seed \(seed)")
        #expect(counts == ["settle": state.isRequested ? 1 : 0, "finish": 1], "seed \(seed)")
    }
}
