/// What runs programs: the engine, or the model of it.
protocol Machine: AnyObject {
    /// To a Deferred; goes as the Deferred's handle goes.
    associatedtype Handle
    associatedtype Trigger
    typealias CallbackBody = (Outcome) -> CallbackAnswer<Handle>

    func source(_ id: Int, canceller: ((Trigger) -> Void)?) -> Handle
    func sourceWithResolver(_ id: Int, canceller: ((Trigger) -> Void)?) -> (Handle, Trigger)
    func settled(_ id: Int, _ outcome: Outcome) -> Handle

    func fire(_ handle: Handle, _ outcome: Outcome, at site: Int) -> Bool
    func fire(_ resolver: Trigger, _ outcome: Outcome, at site: Int) -> Bool
    func isCancelled(_ resolver: Trigger) -> Bool
    func follow(_ handle: Handle, _ other: Handle, at site: Int)
    func follow(_ resolver: Trigger, _ other: Handle)

    /// Whether it is a Deferred of a `Datum`, and not of a list's own type.
    func isPlain(_ handle: Handle) -> Bool
    func attach(_ id: Int, to handle: Handle, _ callback: Callback, _ body: @escaping CallbackBody) -> Handle
    func shielded(_ id: Int, _ handle: Handle) -> Handle
    func finally(_ handle: Handle, id: Int, _ finalizer: @escaping (Outcome) -> Void)
    func list(_ id: Int, _ inputs: [Handle], _ rule: ListRule, _ options: ListOptions) -> Handle
    func cancelList(_ inputs: [Handle])

    func cancel(_ handle: Handle)
    func pause(_ handle: Handle)
    func unpause(_ handle: Handle, at site: Int)
    func look(_ handle: Handle) -> Outcome?

    /// Runs the oldest work that the manual dispatcher has, or lets go of it; false if there is none.
    func runWork() -> Bool
    func dropWork() -> Bool

    /// Does `body` and gives what was reported meanwhile.
    func collectingReports(_ body: () -> Void) -> [Report]
}

enum CallbackAnswer<Handle> {
    case outcome(Outcome)
    case handle(Handle)
}
