internal import Foundation

// The states, the events, and the table of transitions of a ``TransferStateMachine``. The diagram and the table in
// Documentation/Transfers.md are generated from it.

/// A phase, and what is known in it.
enum TransferState {
    case plain(TransferPhases)
    indirect case consulting(TransferQuestion)
    /// A closure of the user's decides how to continue; if it does not, the transfer fails with the error.
    indirect case asking(TransferDecision, orElse: DataSourceError)
    /// The outcome is decided.
    case ending(Result<HTTPURLResponse, any Error>)

    var phase: TransferPhases {
        switch self {
        case .plain(let phase): phase
        case .consulting: .consulting
        case .asking: .asking
        case .ending: .ending
        }
    }
}

/// What may happen to a transfer.
enum TransferEvent {
    /// A closure of the user's has returned, or the form has been written. A value is the next request; nil where
    /// none was asked for, or if the user declines.
    indirect case returned(Result<URLRequest?, any Error>)
    /// The stage or the sink has failed.
    case failed(any Error)
    case sinkReplied(TransferReply)
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
enum TransferDecision { case redirect, credentials }

/// States without what is known in them.
struct TransferPhases: OptionSet {
    let rawValue: UInt16
    /// Made, and not started, or a form is being written. No request has been sent.
    static let preparing = TransferPhases(rawValue: 1)
    static let consulting = TransferPhases(rawValue: 1 << 1)
    /// A request has been sent, or its body is being made.
    static let requesting = TransferPhases(rawValue: 1 << 2)
    /// `validateResponse` is running. The body is kept apart.
    static let staging = TransferPhases(rawValue: 1 << 3)
    /// The answer has been accepted. What was kept apart is being passed to the sink, in front of what arrives.
    static let flushing = TransferPhases(rawValue: 1 << 4)
    static let receiving = TransferPhases(rawValue: 1 << 5)
    /// The body is not wanted. Its first bytes may become part of an error.
    static let sampling = TransferPhases(rawValue: 1 << 6)
    /// The sink is full.
    static let paused = TransferPhases(rawValue: 1 << 7)
    static let asking = TransferPhases(rawValue: 1 << 8)
    static let verifying = TransferPhases(rawValue: 1 << 9)
    static let ending = TransferPhases(rawValue: 1 << 10)
    static let over = TransferPhases(rawValue: 1 << 11)

    /// An answer's body is arriving.
    static let answering: TransferPhases = [.staging, .flushing, .receiving, .paused, .sampling]
    static let ended: TransferPhases = [.ending, .over]
    static let ignored: TransferPhases = []
}

extension TransferPhases {
    /// The states that an event may lead to in a state: none if it is ignored there, nil if it can't happen.
    ///
    /// What comes from an exchange or a closure is of the present round: its earlier events are dropped before.
    static func targets(of event: TransferEvent, in phase: TransferPhases) -> TransferPhases? {
        switch event {
        case .returned where phase == .asking: [.requesting, .consulting, .ending]
        case .returned where [.preparing, .verifying].contains(phase): [.consulting, .ending]
        case .returned: phase == .requesting ? .ending : phase == .staging ? .consulting : nil
        case .failed:
            phase != .sampling && TransferPhases.answering.contains(phase) ? .consulting : unlessEnded(phase)
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
    private static func unlessEnded(_ phase: TransferPhases) -> TransferPhases? {
        phase.isSubset(of: .ended) ? .ignored : nil
    }
}
