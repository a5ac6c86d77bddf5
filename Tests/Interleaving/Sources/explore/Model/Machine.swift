/// Runs programs: the engine, or the model of it.
protocol Machine: AnyObject {
    /// A handle to a Deferred. It is released when the Deferred's handle is.
    associatedtype Handle
    associatedtype Trigger
    typealias CallbackBody = (ModelOutcome) -> CallbackAnswer<Handle>

    /// Called before each action: lets other threads act.
    var pass: () -> Void { get }

    func source(_ id: Int, canceller: ((Trigger) -> Void)?) -> Handle
    func sourceWithResolver(_ id: Int, canceller: ((Trigger) -> Void)?) -> (Handle, Trigger)
    func settled(_ id: Int, _ outcome: ModelOutcome) -> Handle

    func complete(_ handle: Handle, _ outcome: ModelOutcome, at site: Int) -> Bool
    func complete(_ resolver: Trigger, _ outcome: ModelOutcome, at site: Int) -> Bool
    func isCancelled(_ resolver: Trigger) -> Bool
    func follow(_ handle: Handle, _ other: Handle, at site: Int)
    func follow(_ resolver: Trigger, _ other: Handle)

    /// Whether it is a Deferred of a `Datum`, and not of a list's own type.
    func isPlain(_ handle: Handle) -> Bool
    /// - Parameter atEnd: Runs in the `deinit` of an object that the closure captures.
    func attach(
        _ id: Int, to handle: Handle, _ callback: Callback, _ body: @escaping CallbackBody,
        atEnd: (() -> Void)?
    ) -> Handle
    func shielded(_ id: Int, _ handle: Handle) -> Handle
    func timeout(_ id: Int, _ handle: Handle) -> Handle
    /// - Parameter acts: Whether the finalizer does anything that is visible.
    func finally(_ handle: Handle, id: Int, acts: Bool, _ finalizer: @escaping (ModelOutcome) -> Void)
    func list(_ id: Int, _ inputs: [Handle], _ rule: ListRule, _ options: ListOptions) -> Handle
    func cancelList(_ inputs: [Handle])
    /// - Parameter body: Returns the input of an index; nil for one that is resolved.
    func limitedList(
        _ id: Int, _ count: Int, _ limit: Int, _ rule: ListRule, _ body: @escaping (Int) -> Handle?
    ) -> Handle

    func cancel(_ handle: Handle)
    func pause(_ handle: Handle)
    func unpause(_ handle: Handle, at site: Int)
    func look(_ handle: Handle) -> ModelOutcome?
    /// Waits for the shortest time that is not zero.
    func wait(_ handle: Handle) -> Waited

    /// Runs, or releases, the oldest work that the manual dispatcher has. Returns false if there is none.
    func runWork() -> Bool
    func dropWork() -> Bool
    func dropDispatcher()

    /// The time of all time limits is up.
    func expire()

    /// Returns what has a Task await that Deferred, and what cancels the Task.
    func task(
        _ handle: Handle, _ resumed: @escaping (ModelOutcome) -> Void
    ) -> (await: () -> Void, cancel: () -> Void)
}

enum CallbackAnswer<Handle> {
    case outcome(ModelOutcome)
    case handle(Handle)
    /// The input, as it is: a bypass, or a time limit that has not expired.
    case unchanged
}
