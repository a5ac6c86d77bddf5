internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The states, the events, and the table of transitions. The diagram and the table in Documentation/Transfers.md are
/// generated from it.
extension TransferStateMachine {
    indirect enum State {
        case idle
        /// A form is being written. No request has been sent.
        case preparing
        case consulting(Question)
        /// A request has been sent, or its body is being made.
        case requesting
        /// `validateResponse` is running. The body is kept apart.
        case staging
        /// The answer has been accepted. What was kept apart is being passed to the sink, in front of what arrives.
        case flushing
        case receiving
        /// The body is not wanted. Its first bytes may become part of an error.
        case sampling
        /// The sink is full.
        case paused
        /// A closure of the user's decides how to continue; if it does not, the transfer fails with the error.
        case asking(Decision, orElse: DataSourceError)
        case verifying
        /// The outcome is decided.
        case ending(Result<HTTPURLResponse, any Error>)
        case over
    }

    enum Event {
        case start
        case prepared
        /// The form, the body stream, the stage or the sink has failed.
        case failed(any Error, FailureCause)
        case sinkReplied(Reply)
        case head(HTTPURLResponse)
        case bytes(Data)
        /// So many bytes of the request's body have been sent.
        case sent(Int64)
        /// The task has ended.
        case completed((any Error)?)
        case validated((any Error)?)
        /// The stage is empty.
        case flushed
        /// The sink has no room for more.
        case full
        case room
        indirect case answered(Answered)
        case verified((any Error)?)
        /// An eighth of the silence that is allowed has passed. It does not count while a session's limit
        /// delays delivery.
        case tick(isHeldUp: Bool)
        case limitPassed(Duration)
        case stop
        /// The queue that ends the transfer has come to it.
        case concluded
    }

    /// What the user is asked.
    enum Decision {
        case redirect(URLRequest)
        case credentials
    }

    enum Answered: Sendable {
        case redirect(TransferRedirect.Decision)
        case credentials(URLRequest?)
        case failed(any Error)
    }

    /// States without what they know.
    struct Phases: OptionSet {
        let rawValue: UInt16
        static let idle = Phases(rawValue: 1)
        static let preparing = Phases(rawValue: 1 << 1)
        static let consulting = Phases(rawValue: 1 << 2)
        static let requesting = Phases(rawValue: 1 << 3)
        static let staging = Phases(rawValue: 1 << 4)
        static let flushing = Phases(rawValue: 1 << 5)
        static let receiving = Phases(rawValue: 1 << 6)
        static let sampling = Phases(rawValue: 1 << 7)
        static let paused = Phases(rawValue: 1 << 8)
        static let asking = Phases(rawValue: 1 << 9)
        static let verifying = Phases(rawValue: 1 << 10)
        static let ending = Phases(rawValue: 1 << 11)
        static let over = Phases(rawValue: 1 << 12)

        /// An answer's body is arriving.
        static let answering: Phases = [.staging, .flushing, .receiving, .paused, .sampling]
        static let ended: Phases = [.ending, .over]
        static let ignored: Phases = []
    }

    /// The states that an event may lead to in a state: none if it is ignored there, nil if it can't happen.
    ///
    /// What comes from a task or a closure is of the present round: its earlier events are dropped before.
    static func targets(of event: Event, in phase: Phases) -> Phases? {
        switch event {
        case .start: phase == .idle ? .preparing : phase == .over ? .ignored : nil
        case .prepared: phase == .preparing ? .consulting : unlessEnded(phase)
        case .failed where [.preparing, .requesting].contains(phase): .ending
        case .failed:
            phase != .sampling && Phases.answering.contains(phase) ? .consulting : unlessEnded(phase)
        case .sinkReplied:
            phase == .consulting
                ? [.requesting, .receiving, .flushing, .verifying, .consulting, .ending] : nil
        case .head:
            // Each task has one answer.
            phase == .requesting
                ? [.requesting, .staging, .sampling, .consulting]
                : phase.isSubset(of: .answering) ? .ignored : nil
        case .bytes where phase == .requesting: .ignored
        case .bytes where phase == .sampling: [.sampling, .asking, .requesting, .consulting]
        case .bytes: phase.isSubset(of: .answering) ? [phase, .consulting] : nil
        case .sent: phase == .requesting || phase.isSubset(of: .answering) ? phase : nil
        case .completed where phase == .sampling: [.asking, .requesting, .consulting]
        case .completed where [.staging, .flushing].contains(phase): phase
        case .completed: [.requesting, .receiving, .paused].contains(phase) ? .consulting : nil
        case .validated: phase == .staging ? .consulting : nil
        case .flushed: phase == .flushing ? [.receiving, .consulting] : nil
        case .full: phase == .receiving ? .paused : phase == .paused ? .ignored : nil
        case .room: phase == .paused ? [.receiving, .consulting] : phase == .consulting ? nil : .ignored
        case .answered: phase == .asking ? [.requesting, .consulting, .ending] : nil
        case .verified: phase == .verifying ? [.consulting, .ending] : nil
        case .tick where [.preparing, .paused, .verifying].contains(phase): phase
        case .tick:
            phase == .requesting || phase == .asking || phase.isSubset(of: .answering)
                ? [phase, .consulting] : unlessEnded(phase)
        case .limitPassed:
            [.idle, .consulting].contains(phase) ? nil : phase.isSubset(of: .ended) ? .ignored : .ending
        case .stop: phase == .consulting ? nil : .over
        case .concluded: phase == .ending ? .over : phase == .over ? .ignored : nil
        }
    }

    /// Ignored after the end, and impossible otherwise.
    private static func unlessEnded(_ phase: Phases) -> Phases? {
        phase.isSubset(of: .ended) ? .ignored : nil
    }
}

extension TransferStateMachine.State {
    /// Whether the outcome is decided.
    var hasEnded: Bool { phase.isSubset(of: .ended) }

    var phase: TransferStateMachine.Phases {
        switch self {
        case .idle: .idle
        case .preparing: .preparing
        case .consulting: .consulting
        case .requesting: .requesting
        case .staging: .staging
        case .flushing: .flushing
        case .receiving: .receiving
        case .sampling: .sampling
        case .paused: .paused
        case .asking: .asking
        case .verifying: .verifying
        case .ending: .ending
        case .over: .over
        }
    }
}
