internal import Dispatch
internal import Synchronization

/// A step that runs on a dispatcher: a queue or any other. It is submitted when its link is dequeued; what
/// follows from it continues on the dispatcher's thread.
///
/// The work that is submitted retains this object, and this object retains the link. The step belongs to what
/// takes the link out of `submitted`: the work, which runs it; or the last release, if the dispatcher has
/// released the work without running it, so that the link fails with ``DeferredError/abandoned``.
///
/// A dispatcher may run the work, or release it, within the call. The thread that submits, which retains this
/// object during the call, then finds the link and the result here, and continues with it after the others
/// attached to the same Deferred (F4).
///
/// Once the work is submitted, this object no longer retains the dispatcher: one that is released with the
/// work in it releases that work.
///
/// Sound as `@unchecked Sendable`, and without run-time checks of exclusive access: `payload` and `input` are
/// written before the link is stored in `submitted`. `payload` then belongs to the thread that takes it out; `input` is
/// accessed under the lock of the link, as `dispatcher` and `type` are. `ended` is accessed by the thread that submits,
/// or in the `deinit`.
@usableFromInline
final class DispatchedStep: @unchecked Sendable {
    /// Where the step is to run, until the work is submitted; then only a `DispatchQueue`, which libdispatch
    /// retains anyway for as long as it has work.
    @exclusivity(unchecked) private var dispatcher: (any Dispatcher & AnyObject)?
    /// The type of the dispatcher that was here.
    @exclusivity(unchecked) private var type: (any Dispatcher.Type)?
    /// The step until it has run, then its result; `none` if it was released.
    @exclusivity(unchecked) fileprivate var payload: Payload
    /// The outcome that the link waited for.
    @exclusivity(unchecked) private var input = Payload.none
    /// The link, if the step ended within the call that submits it, until the drain loop continues with it.
    @exclusivity(unchecked) fileprivate var ended: Link?
    /// The thread that submits the work, during the call; otherwise 0.
    fileprivate let submittingThread = Atomic<UInt>(0)
    /// A reference to the link from when the work is submitted until it runs or is released; 0 before and
    /// after.
    private let submitted = Atomic<UInt>(0)

    init(_ dispatcher: any Dispatcher & AnyObject, _ step: consuming Payload) {
        self.dispatcher = dispatcher
        payload = step
    }

    deinit { if submitted.load(ordering: .relaxed) != 0 { endWork(isReleased: true) } }

    /// Makes the link `dispatched`, and submits the work.
    ///
    /// A function of its own, so that on its return nothing here retains the dispatcher. Sound: it takes over
    /// the caller's reference to the link; the work has that from when `submitted` has its address.
    @inline(never)
    fileprivate func submit(_ link: Unmanaged<Link>, _ input: consuming Payload, on thread: UInt) {
        guard let dispatcher else { preconditionFailure("a step is submitted once") }
        let isCancelled = input.isCancellation
        self.input = input
        var returned: ReturnableValue?
        link._withUnsafeGuaranteedRef { link in
            if Recording.isOn { Recording.note(link, .init(kind: .dispatched, queue: destination.name)) }
            let word = link.lock()
            // Requests that were left in it end as it is interrupted, unless they wait for its outcome. They are released
            // after the lock.
            let requests = link.keepsOutcome ? [] : link.coldState?.requests.takeAll() ?? []
            link.state.dispatch(isCancelled: isCancelled || !requests.isEmpty)
            for request in requests where request.root !== link { request.end() }
            if !requests.isEmpty { returned = takeReturnableInput() }
            link.activeThread = 0
            // The step's address, without a reference: see `destination`.
            let address = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
            link.payload = Payload(.none, (address, 0, 0, 0))
            if !(dispatcher is DispatchQueue) {
                type = Swift.type(of: dispatcher)
                self.dispatcher = nil
            }
            link.unlock(word)
            _ = consume requests
        }
        _ = consume returned
        submittingThread.store(thread, ordering: .relaxed)
        submitted.store(UInt(bitPattern: link.toOpaque()), ordering: .releasing)
        dispatcher.dispatch { self.endWork(isReleased: false) }
    }

    /// Runs the step with the outcome, or with `CancellationError` if the link has been cancelled since (C5);
    /// if the dispatcher has released the work, fails the link, and reports a failure that is lost with the
    /// work (U1). Once. Continues with the result, unless this is within the call that submitted the work:
    /// then the drain loop does.
    ///
    /// Sound: the address is that of a reference, which `submit` stored, and which one exchange takes out.
    fileprivate func endWork(isReleased: Bool) {
        let address = UnsafeRawPointer(bitPattern: submitted.exchange(0, ordering: .acquiringAndReleasing))
        guard let address else { return }
        let link = Unmanaged<Link>.fromOpaque(address).takeRetainedValue()
        var input = Payload.none
        var loop = DrainLoop()
        let word = link.lock()
        let isCancelled = link.begin(on: loop.thread)
        swap(&input, &self.input)
        // That had an address, and no reference.
        link.payload = .none
        // Not reported, unless a consumer takes it and leaves it unhandled (U1).
        if isReleased { link.state.handle() }
        link.unlock(word)
        if isCancelled { input = .failure(CancellationError()) }
        // An abandonment is lost in another, which the link ends with.
        if isReleased, input.error as? DeferredError != .abandoned { link.reportUnhandled(input) }
        var result = Payload.none
        if !isReleased {
            swap(&result, &payload)
            result = Recording.isOn ? Recording.run(result, of: link, input) : result.run(input)
        } else if input.isCancellation {
            result = .failure(CancellationError())
        }
        if submittingThread.load(ordering: .relaxed) == loop.thread {
            ended = link
            // What a step that was released captured is released here, and may cancel the link.
            payload = result
        } else {
            loop.concludeDispatched(consume link, result)
            loop.run()
        }
    }

    /// Returns the outcome that the step will not receive any more, since its link was cancelled, if it is a value that
    /// is to be given back as soon as possible (V1). Under the link's lock.
    fileprivate func takeReturnableInput() -> ReturnableValue? {
        guard input.kind == .returnable else { return nil }
        var taken = Payload.none
        swap(&taken, &input)
        return taken.takeReference(as: ReturnableValue.self)
    }

    /// Where a step runs or will run.
    struct Destination {
        /// Retained for its label; `nil` for a dispatcher of another type.
        let queue: DispatchQueue?
        let type: any Dispatcher.Type

        /// The label of a queue that has one, else the type. Runs no code of a user's.
        var name: String {
            if let queue, !queue.label.isEmpty { return queue.label }
            return type == MainActorDispatcher.self ? "MainActor" : "\(type)"
        }

        /// Whether work submitted there runs on the main queue, known by its label: two objects may stand for one
        /// queue.
        var isMainQueue: Bool {
            type == MainActorDispatcher.self || queue.map { $0.label == DispatchQueue.main.label } ?? false
        }
    }

    /// Where the step runs. Under the lock of the link whose payload this is.
    fileprivate var destination: Destination {
        let type = dispatcher.map { Swift.type(of: $0) } ?? type ?? DispatchQueue.self
        let substituted = (type as? any DispatcherSubstitute.Type)?.base
        return Destination(queue: dispatcher as? DispatchQueue, type: substituted ?? type)
    }
}

extension DrainLoop {
    /// Submits the step of a running link to its dispatcher, and continues with the result if the dispatcher
    /// ran or released the work within the call.
    @inline(never)
    mutating func submit(
        _ payload: consuming Payload, of link: consuming Link, with input: consuming Payload
    ) {
        var step = payload.takeReference(as: DispatchedStep.self)
        if scope != nil { retainScope(with: link) }
        if link.isPassed, !input.isCancellation { noteAnswer(at: link) }
        step.submit(Unmanaged.passRetained(consume link), input, on: thread)
        if isKnownUniquelyReferenced(&step) { step.endWork(isReleased: true) }
        step.submittingThread.store(0, ordering: .relaxed)
        guard let link = step.ended.take() else { return }
        var result = Payload.none
        swap(&result, &step.payload)
        concludeDispatched(consume link, result)
    }

    /// Continues with the result of a step that was submitted; `none` if its dispatcher has released it.
    fileprivate mutating func concludeDispatched(_ link: consuming Link, _ result: consuming Payload) {
        if result.kind == .none { settle(link, failingWith: .abandoned) } else { conclude(link, result) }
    }
}

extension Payload {
    /// Runs `step` on `dispatcher`, which is not nil.
    ///
    /// Sound: an optional existential that is not nil has the layout of the existential: three words for the
    /// value, of which a reference is the first, then the value's type. A queue is read in place. (Copying the
    /// existential and destroying the copy costs far more.)
    @usableFromInline
    static func dispatched(to dispatcher: (any Dispatcher)?, _ step: consuming Payload) -> Payload {
        let object = withUnsafePointer(to: dispatcher) { existential -> any Dispatcher & AnyObject in
            let memory = UnsafeRawPointer(existential)
            let type = memory.load(fromByteOffset: 3 * MemoryLayout<UInt>.size, as: Any.Type.self)
            if type == DispatchQueue.self { return memory.load(as: DispatchQueue.self) }
            return memory.assumingMemoryBound(to: (any Dispatcher).self).pointee.retainedByChains
        }
        if ProcessFlags.areNone {
            return Payload(.dispatchedStep, retaining: DispatchedStep(object, step))
        }
        return Payload(.dispatchedStep, retaining: DispatchedStep(object, step.carryingTaskLocals()))
    }

    /// Where the step runs or will run, if it names a dispatcher. Under the link's lock.
    var destination: DispatchedStep.Destination? {
        kind == .dispatchedStep || kind == .none ? withDispatchedStep { $0.destination } : nil
    }

    /// Takes the value out of a `dispatched` link whose step will not receive it; nil if it is not to be given back.
    /// Under the link's lock.
    func takeReturnableInput() -> ReturnableValue? {
        kind == .none ? withDispatchedStep { $0.takeReturnableInput() } ?? nil : nil
    }

    /// Sound: a payload of the kind `none` has the address of a `DispatchedStep` only while the link is
    /// `dispatched`. The step takes the address back, under the link's lock, before it is deallocated.
    private func withDispatchedStep<R>(_ body: (DispatchedStep) -> R) -> R? {
        guard let address = UnsafeRawPointer(bitPattern: bits.0) else { return nil }
        return Unmanaged<DispatchedStep>.fromOpaque(address)._withUnsafeGuaranteedRef(body)
    }
}
