import TestSupport
import Testing

@testable import Deferred

/// The transitions of a cache's entry, without threads.
@Suite("CacheEntry.State", .watchdog)
struct CacheEntryStateTests {
    typealias State = CacheEntry<String, Int>.State
    typealias Request = CacheEntry<String, Int>.Request

    private struct Failed: Error {}

    /// A request from inside of which another one is asked for.
    private final class Caller: CacheRequest {
        var callingRequestsOnly: [any CacheRequest]? { nil }
        func endSharing() {}
    }

    /// One entry, with what its events refer to.
    private struct Machine {
        var state = State()
        let first = Request(number: 0, outcome: .never(), keeper: .never())
        let renewing = Request(number: 1, outcome: .never(), keeper: .never())
        let caller = Caller()

        mutating func answer(_ event: Event) -> String {
            switch event {
            case .begin:
                _ = state.begin(first, nil)
                return "begun"
            case .beginInside:
                _ = state.begin(first, caller)
                return "begun"
            case .lookUp:
                return switch state.lookUp() {
                case .nothing: "nothing"
                case .kept(let result): "kept \((try? result.get()) ?? 0)"
                case .due(let result, let number): "due \((try? result.get()) ?? 0), \(number)"
                }
            case .renew: return "\(state.renew(renewing))"
            case .join, .joinInside:
                return switch state.join(event == .join ? nil : caller) {
                case .kept(let result): "kept \((try? result.get()) ?? 0)"
                case .shares(let outcome): outcome == first.outcome ? "shares" : "shares the renewal"
                case .hasEnded: "hasEnded"
                }
            case .leave: return describe(state.leave(first.outcome, nil))
            case .leaveInside: return describe(state.leave(first.outcome, caller))
            case .leaveRenewal: return describe(state.leave(renewing.outcome, nil))
            case .finish: return describe(state.finish(0, .success(7), isKept: true))
            case .finishUnkept: return describe(state.finish(0, .success(7), isKept: false))
            case .finishRenewal: return describe(state.finish(1, .success(8), isKept: true))
            case .failRenewal: return describe(state.finish(1, .failure(Failed()), isKept: false))
            case .due:
                if let kept = state.kept { state.setDue(kept.expiry) }
                return "set"
            case .expire:
                return switch state.expire(state.kept?.expiry ?? DelayedCall()) {
                case .isObsolete: "isObsolete"
                case .released: "released"
                case .ended: "ended"
                }
            case .expireOther:
                guard case .isObsolete = state.expire(DelayedCall()) else { return "expired" }
                return "isObsolete"
            case .evict:
                guard case .ended = state.evict() else { return "isInProgress" }
                return "ended"
            case .endSharing: return state.endSharing() == nil ? "nothing" : "ended"
            case .forget:
                _ = state.forget()
                return "forgotten"
            }
        }

        private func describe(_ leaving: State.Leaving) -> String {
            switch leaving {
            case .someStay: "someStay"
            case .requestsStay: "requestsStay"
            case .ended: "ended"
            }
        }

        private func describe(_ finish: State.Finish) -> String {
            let ending =
                switch finish.ending {
                case .ended: "ended"
                case .obsolete: "obsolete"
                case .keeps(let kept): "keeps \((try? kept.result.get()) ?? 0)"
                case .keepsOlder(let kept): "keepsOlder \((try? kept.result.get()) ?? 0)"
                }
            return ending + (finish.replaced == nil ? "" : ", replaces") + (finish.isUnseen ? ", unseen" : "")
        }
    }

    enum Event: String, Sendable {
        case begin, beginInside, lookUp, renew, join, joinInside, leave, leaveInside, leaveRenewal
        case finish, finishUnkept, finishRenewal, failRenewal, due, expire, expireOther, evict, endSharing,
            forget
    }

    private static let kept: [(Event, String)] = [(.begin, "begun"), (.finish, "keeps 7")]
    private static let renewed: [(Event, String)] =
        kept + [(.due, "set"), (.lookUp, "due 7, 1"), (.renew, "begins")]

    /// Events, each with what it leads to.
    private static let rows: [[(Event, String)]] = [
        // Q7: one request, which ends with the last caller.
        [
            (.begin, "begun"), (.join, "shares"), (.leave, "someStay"), (.leave, "ended"),
            (.join, "hasEnded"),
            (.finish, "obsolete"),
        ],
        [
            (.begin, "begun"), (.join, "shares"), (.finish, "keeps 7"), (.lookUp, "kept 7"),
            (.join, "kept 7"),
            (.leave, "someStay"),
        ],
        [(.begin, "begun"), (.finishUnkept, "ended"), (.lookUp, "nothing"), (.join, "hasEnded")],
        [(.begin, "begun"), (.lookUp, "nothing"), (.evict, "isInProgress"), (.expire, "isObsolete")],
        // R6: requests that wait for each other are not counted as callers from outside.
        [(.begin, "begun"), (.joinInside, "shares"), (.leave, "requestsStay"), (.leaveInside, "ended")],
        [(.beginInside, "begun"), (.join, "shares"), (.leaveInside, "someStay"), (.leave, "ended")],
        // Q7: a forgotten key's value is never kept, and a request in progress is shared no more.
        [
            (.begin, "begun"), (.forget, "forgotten"), (.join, "hasEnded"), (.finish, "ended"),
            (.lookUp, "nothing"),
        ],
        [(.begin, "begun"), (.endSharing, "ended"), (.join, "hasEnded"), (.leave, "ended")],
        kept + [(.forget, "forgotten"), (.lookUp, "nothing")],
        // A value that is kept is not touched by the end of a request that has ended.
        kept + [(.endSharing, "nothing"), (.lookUp, "kept 7")],
        kept + [(.evict, "ended"), (.lookUp, "nothing")],
        kept + [(.expireOther, "isObsolete"), (.expire, "ended"), (.lookUp, "nothing")],
        // One call renews a value that is due; others get the old one meanwhile.
        kept + [(.due, "set"), (.lookUp, "due 7, 1"), (.lookUp, "kept 7")],
        renewed + [
            (.lookUp, "kept 7"), (.join, "kept 7"), (.finishRenewal, "keeps 8, replaces, unseen"),
            (.lookUp, "kept 8"),
        ],
        renewed + [(.failRenewal, "keepsOlder 7, unseen"), (.lookUp, "due 7, 2")],
        renewed + [(.expire, "released"), (.join, "shares the renewal"), (.finishRenewal, "keeps 8")],
        renewed + [
            (.evict, "isInProgress"), (.renew, "isObsolete"), (.leaveRenewal, "ended"), (.lookUp, "nothing"),
        ],
        [(.renew, "isObsolete")],
    ]

    @Test("Q7: each event leads where the table says", arguments: rows.indices)
    func transitions(row: Int) {
        var machine = Machine()
        for (step, (event, answer)) in Self.rows[row].enumerated() {
            #expect(machine.answer(event) == answer, "step \(step), \(event)")
        }
    }
}
