internal import Foundation

/// The states, the events, and the table of transitions. The diagram and the table in Documentation/Transfers.md are
/// generated from it.
extension TransferStateMachine {
    /// A phase, and what is known in it.
    enum State {
        case plain(Phases)
        indirect case consulting(Question)
        /// A closure of the user's decides how to continue; if it does not, the transfer fails with the error.
        indirect case asking(Decision, orElse: DataSourceError)
        /// The outcome is decided.
        case ending(Result<HTTPURLResponse, any Error>)

        var phase: Phases {
            switch self {
            case .plain(let phase): phase
            case .consulting: .consulting
            case .asking: .asking
            case .ending: .ending
            }
        }
    }

    enum Event {
        /// A closure of the user's has returned, or the form has been written. A value is the next request; nil where
        /// none was asked for, or if the user declines.
        indirect case returned(Result<URLRequest?, any Error>)
        /// The stage or the sink has failed.
        case failed(any Error)
        case sinkReplied(Reply)
        case head(HTTPURLResponse)
        case bytes(Data)
        /// So many bytes of the request's body have been sent.
        case sent(Int64)
        /// The exchange has ended.
        case completed((any Error)?)
        /// The exchange has ended with a head, and without its body or the rest of it.
        case answered(HTTPURLResponse)
        /// The stage is empty.
        case flushed
        /// The sink has no room for more.
        case full
        case room
        /// An eighth of the silence that is allowed has passed. It does not count while a session's limit
        /// delays delivery.
        case tick(isHeldUp: Bool)
        case limitPassed(Duration)
        case stop
        /// The queue that ends the transfer has come to it.
        case concluded
    }

    /// What the user is asked about.
    enum Decision { case redirect, credentials }

    /// States without what is known in them.
    struct Phases: OptionSet {
        let rawValue: UInt16
        /// Made, and not started, or a form is being written. No request has been sent.
        static let preparing = Phases(rawValue: 1)
        static let consulting = Phases(rawValue: 1 << 1)
        /// A request has been sent, or its body is being made.
        static let requesting = Phases(rawValue: 1 << 2)
        /// `validateResponse` is running. The body is kept apart.
        static let staging = Phases(rawValue: 1 << 3)
        /// The answer has been accepted. What was kept apart is being passed to the sink, in front of what arrives.
        static let flushing = Phases(rawValue: 1 << 4)
        static let receiving = Phases(rawValue: 1 << 5)
        /// The body is not wanted. Its first bytes may become part of an error.
        static let sampling = Phases(rawValue: 1 << 6)
        /// The sink is full.
        static let paused = Phases(rawValue: 1 << 7)
        static let asking = Phases(rawValue: 1 << 8)
        static let verifying = Phases(rawValue: 1 << 9)
        static let ending = Phases(rawValue: 1 << 10)
        static let over = Phases(rawValue: 1 << 11)

        /// An answer's body is arriving.
        static let answering: Phases = [.staging, .flushing, .receiving, .paused, .sampling]
        static let ended: Phases = [.ending, .over]
        static let ignored: Phases = []
    }

    /// The states that an event may lead to in a state: none if it is ignored there, nil if it can't happen.
    ///
    /// What comes from an exchange or a closure is of the present round: its earlier events are dropped before.
    static func targets(of event: Event, in phase: Phases) -> Phases? {
        switch event {
        case .returned where phase == .asking: [.requesting, .consulting, .ending]
        case .returned where [.preparing, .verifying].contains(phase): [.consulting, .ending]
        case .returned: phase == .requesting ? .ending : phase == .staging ? .consulting : nil
        case .failed:
            phase != .sampling && Phases.answering.contains(phase) ? .consulting : unlessEnded(phase)
        case .sinkReplied:
            phase == .consulting
                ? [.requesting, .receiving, .flushing, .verifying, .consulting, .ending] : nil
        case .head:
            // Each exchange has one answer.
            phase == .requesting
                ? [.requesting, .staging, .sampling, .consulting]
                : phase.isSubset(of: .answering) ? .ignored : nil
        case .answered where phase == .requesting:
            [.consulting, .staging, .asking, .requesting]
        case .answered where phase == .sampling: [.asking, .requesting, .consulting]
        case .answered where [.staging, .flushing].contains(phase): phase
        case .answered: [.receiving, .paused].contains(phase) ? .consulting : nil
        // Foundation makes up a head for a body that has none.
        case .bytes where phase == .requesting: .consulting
        case .bytes where phase == .sampling: [.sampling, .asking, .requesting, .consulting]
        case .bytes: phase.isSubset(of: .answering) ? [phase, .consulting] : nil
        case .sent: phase == .requesting || phase.isSubset(of: .answering) ? phase : nil
        case .completed where phase == .sampling: [.asking, .requesting, .consulting]
        case .completed where [.staging, .flushing].contains(phase): phase
        case .completed: [.requesting, .receiving, .paused].contains(phase) ? .consulting : nil
        case .flushed: phase == .flushing ? [.receiving, .consulting] : nil
        case .full: phase == .receiving ? .paused : phase == .paused ? .ignored : nil
        case .room: phase == .paused ? [.receiving, .consulting] : phase == .consulting ? nil : .ignored
        case .tick where [.preparing, .paused, .verifying].contains(phase): phase
        case .tick:
            phase == .requesting || phase == .asking || phase.isSubset(of: .answering)
                ? [phase, .consulting] : unlessEnded(phase)
        case .limitPassed:
            phase == .consulting ? nil : phase.isSubset(of: .ended) ? .ignored : .ending
        case .stop: phase == .consulting ? nil : .over
        case .concluded: phase == .ending ? .over : phase == .over ? .ignored : nil
        }
    }

    /// Ignored after the end, and impossible otherwise.
    private static func unlessEnded(_ phase: Phases) -> Phases? {
        phase.isSubset(of: .ended) ? .ignored : nil
    }
}
