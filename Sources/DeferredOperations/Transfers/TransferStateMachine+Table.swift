/// The table of transitions: which states an event may lead to. The compiler checks that each state and event has an
/// entry; ``TransferStateMachine/handle(_:of:)`` checks that the code keeps to them.
extension TransferStateMachine {
    enum Rule: Equatable {
        /// Leads to one of these states.
        case leads(PhaseSet)
        /// Comes too late, or does not matter.
        case ignored
        /// Cannot happen: the executor does not send it, or it is of an earlier round.
        case impossible

        static func to(_ phases: Phase...) -> Rule {
            .leads(PhaseSet(rawValue: phases.reduce(0) { $0 | 1 << UInt16($1.rawValue) }))
        }
    }

    /// A state without what it knows.
    enum Phase: Int, CaseIterable {
        case idle, preparing, consulting, requesting, staging, flushing, receiving, sampling, paused, asking
        case verifying, ending, over
    }

    struct PhaseSet: OptionSet {
        let rawValue: UInt16
        func contains(_ phase: Phase) -> Bool { rawValue & 1 << UInt16(phase.rawValue) != 0 }
    }

    static func rule(_ phase: Phase, _ event: Event.Kind) -> Rule {
        switch event {
        case .start, .prepared, .failed, .sinkReplied: ruleOfWork(phase, event)
        case .head, .bytes, .sent, .completed: ruleOfTask(phase, event)
        case .validated, .flushed, .full, .room, .answered, .verified: ruleOfAnswer(phase, event)
        case .tick, .limitPassed, .stop, .concluded: ruleOfEnd(phase, event)
        }
    }

    private static func ruleOfWork(_ phase: Phase, _ event: Event.Kind) -> Rule {
        switch (event, phase) {
        case (.start, .idle): .to(.preparing)
        case (.start, .over): .ignored
        case (.start, _): .impossible
        case (.prepared, .preparing): .to(.consulting)
        case (.failed, .preparing), (.failed, .requesting): .to(.consulting, .ending)
        case (.failed, .staging), (.failed, .flushing), (.failed, .receiving), (.failed, .paused):
            .to(.consulting)
        case (.sinkReplied, .consulting):
            .to(.requesting, .receiving, .flushing, .verifying, .consulting, .ending)
        case (.prepared, .ending), (.prepared, .over), (.failed, .ending), (.failed, .over): .ignored
        default: .impossible
        }
    }

    /// Each task has one answer.
    private static func ruleOfTask(_ phase: Phase, _ event: Event.Kind) -> Rule {
        switch phase {
        case .requesting:
            switch event {
            case .head: .to(.requesting, .staging, .sampling, .consulting)
            case .sent: .to(.requesting)
            case .completed: .to(.consulting)
            default: .ignored
            }
        case .staging, .flushing, .receiving, .paused, .sampling:
            switch (event, phase) {
            case (.head, _): .ignored
            case (.sent, _): .to(phase)
            case (.bytes, .sampling): .to(.sampling, .asking, .requesting, .consulting)
            case (.bytes, _): .to(phase, .consulting)
            case (.completed, .sampling): .to(.asking, .requesting, .consulting)
            case (.completed, .staging), (.completed, .flushing): .to(phase)
            default: .to(.consulting)
            }
        case .idle, .preparing, .consulting, .asking, .verifying, .ending, .over: .impossible
        }
    }

    private static func ruleOfAnswer(_ phase: Phase, _ event: Event.Kind) -> Rule {
        switch (event, phase) {
        case (.validated, .staging): .to(.consulting)
        case (.flushed, .flushing): .to(.receiving, .consulting)
        case (.full, .receiving): .to(.paused)
        case (.full, .flushing), (.full, .paused): .ignored
        case (.room, .paused): .to(.receiving, .consulting)
        case (.room, .idle), (.room, .consulting): .impossible
        case (.room, _): .ignored
        case (.answered, .asking): .to(.requesting, .consulting, .ending)
        case (.verified, .verifying): .to(.consulting, .ending)
        default: .impossible
        }
    }

    private static func ruleOfEnd(_ phase: Phase, _ event: Event.Kind) -> Rule {
        switch (event, phase) {
        case (_, .consulting): .impossible
        case (.stop, _): .to(.over)
        case (.concluded, .ending): .to(.over)
        case (.tick, .over), (.limitPassed, .over), (.concluded, .over), (.tick, .ending),
            (.limitPassed, .ending):
            .ignored
        case (.concluded, _), (_, .idle): .impossible
        case (.tick, .preparing), (.tick, .paused), (.tick, .verifying): .to(phase)
        case (.tick, _): .to(phase, .consulting)
        default: .to(.ending)
        }
    }
}

extension TransferStateMachine.Event {
    /// An event without what it brings.
    enum Kind: CaseIterable {
        case start, prepared, failed, sinkReplied, head, bytes, sent, completed, validated, flushed, full,
            room
        case answered, verified, tick, limitPassed, stop, concluded
    }

    var kind: Kind {
        switch self {
        case .start: .start
        case .prepared: .prepared
        case .failed: .failed
        case .sinkReplied: .sinkReplied
        case .head: .head
        case .bytes: .bytes
        case .sent: .sent
        case .completed: .completed
        case .validated: .validated
        case .flushed: .flushed
        case .full: .full
        case .room: .room
        case .answered: .answered
        case .verified: .verified
        case .tick: .tick
        case .limitPassed: .limitPassed
        case .stop: .stop
        case .concluded: .concluded
        }
    }
}

extension TransferStateMachine.State {
    /// Whether the outcome is decided.
    var hasEnded: Bool { phase == .ending || phase == .over }

    var phase: TransferStateMachine.Phase {
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
