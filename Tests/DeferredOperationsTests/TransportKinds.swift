import DeferredOperations

/// The transports of the library. `Integrations/` has a file of this name, with others, beside the same tests.
enum TransportKind: CaseIterable {
    case foundation, stub, stubWithoutPauses

    var deliversAsSent: Bool { self != .foundation }
    var unpacks: Bool { self == .foundation }

    func place() -> Place {
        switch self {
        case .foundation: .server(.shared)
        case .stub: .stub(canPause: true)
        case .stubWithoutPauses: .stub(canPause: false)
        }
    }
}
