internal import Dispatch
internal import Synchronization

/// A step that runs on a dispatcher: a queue or any other. It is submitted when its link is dequeued; what
/// follows from it continues on the dispatcher's thread.
///
/// The work that is submitted retains this object and nothing else, and this object retains the link. The
/// step belongs to what takes the link out of `submitted`: the work, which runs it; or the `deinit`, if the
/// dispatcher has released the work without running it, so that the link fails with
/// ``DeferredError/abandoned``.
///
/// A dispatcher may run the work, or release it, within the call. On the thread that submits, the result is
/// then left in the ``Call``, for the drain loop: that continues with it after the others attached to the
/// same Deferred (F4).
///
/// Once the work is submitted, this object no longer retains the dispatcher: one that is released with the
/// work in it releases that work.
///
/// Sound as `@unchecked Sendable`, and without run-time checks of exclusive access: `step`, `input`, `scope`
/// and `call` are written before the link is stored in `submitted`, and then belong to the thread that takes
/// it out. `dispatcher` and `type` are accessed under the lock of the link whose payload this is.
@usableFromInline
final class DispatchedStep: @unchecked Sendable {
    /// A call that submits a step, on the stack of its thread, whose slot has the address of the innermost
    /// one.
    fileprivate struct Call: ~Copyable {
        static let slot = ThreadSlot()
        /// The address of the step, which may have been deallocated.
        let step: UnsafeRawPointer
        /// The link, if the step was run or released within the call, and the result; `none` if it was
        /// released: what it captured is released after this, and may cancel the link.
        var link: Link?
        var result = Link.Payload.none
    }

    /// Where the step is to run, until the work is submitted; then only a `DispatchQueue`, which libdispatch
    /// retains anyway for as long as it has work.
    @exclusivity(unchecked) private var dispatcher: (any Dispatcher & AnyObject)?
    /// The type of the dispatcher that was here.
    @exclusivity(unchecked) private var type: (any Dispatcher.Type)?
    @exclusivity(unchecked) private var step: Link.Payload
    /// The outcome that the link waited for.
    @exclusivity(unchecked) private var input = Link.Payload.none
    @exclusivity(unchecked) private var scope: FinalizerScope?
    /// The call that submitted the work. It may have ended.
    @exclusivity(unchecked) private var call: UnsafeMutableRawPointer?
    /// A reference to the link from when the work is submitted until it runs or is released; 0 before and
    /// after.
    private let submitted = Atomic<UInt>(0)

    init(_ dispatcher: any Dispatcher & AnyObject, _ step: consuming Link.Payload) {
        self.dispatcher = dispatcher
        self.step = step
    }

    deinit {
        if submitted.load(ordering: .acquiring) != 0 { endWaiting(isReleased: true) }
    }

    /// Makes the link `dispatched`, and submits the work.
    ///
    /// A function of its own, so that on its return only the dispatcher retains the work, and nothing here the
    /// dispatcher. Sound: it takes over the caller's references to the step and the link; the work has that to
    /// the link from when `submitted` has its address.
    @inline(never)
    fileprivate static func submit(
        _ step: Unmanaged<DispatchedStep>, _ link: Unmanaged<Link>, _ input: consuming Link.Payload,
        _ scope: FinalizerScope?, in call: UnsafeMutableRawPointer
    ) {
        let step = step.takeRetainedValue()
        guard let dispatcher = step.dispatcher else { preconditionFailure("a step is submitted once") }
        let isCancelled = input.error is CancellationError
        step.input = input
        step.scope = scope
        step.call = call
        link._withUnsafeGuaranteedRef { link in
            if Recording.isOn { Recording.dispatched(link, to: step.destination.name) }
            let word = link.lock()
            // Requests that were left in it end with a mark. They are released after the lock.
            let requests = link.coldState?.requests.takeAll() ?? []
            link.state.dispatch(isCancelled: isCancelled || !requests.isEmpty)
            for request in requests where request.root !== link { request.end() }
            link.activeThread = 0
            // The step's address, without a reference: see `destination`.
            let address = UInt(bitPattern: Unmanaged.passUnretained(step).toOpaque())
            link.payload = Link.Payload(.none, (address, 0, 0, 0))
            if !(dispatcher is DispatchQueue) {
                step.type = Swift.type(of: dispatcher)
                step.dispatcher = nil
            }
            link.unlock(word)
            _ = consume requests
        }
        step.submitted.store(UInt(bitPattern: link.toOpaque()), ordering: .releasing)
        dispatcher.dispatch { step.endWaiting(isReleased: false) }
    }

    /// Runs the step with the outcome, or with `CancellationError` if the link has been cancelled since (C5);
    /// if the dispatcher has released the work, fails the link, and reports a failure that is lost with the
    /// work (U1). Once. Continues with the result, unless this is within the call that submitted the work: then
    /// the drain loop does.
    ///
    /// Sound: the address is that of a reference, which `submit` stored, and which one exchange takes out.
    private func endWaiting(isReleased: Bool) {
        let address = UnsafeRawPointer(bitPattern: submitted.exchange(0, ordering: .acquiringAndReleasing))
        guard let address else { return }
        let link = Unmanaged<Link>.fromOpaque(address).takeRetainedValue()
        var input = Link.Payload.none
        swap(&input, &self.input)
        var loop = DrainLoop(scope.take())
        let word = link.lock()
        let isCancelled = link.begin(on: loop.thread)
        // That had an address, and no reference.
        link.payload = .none
        // Not reported, unless a consumer takes it and leaves it unhandled (U1).
        if isReleased { link.state.handle() }
        link.unlock(word)
        if isCancelled { input = .failure(CancellationError()) }
        // An abandonment is lost in another, which the link ends with.
        if isReleased, input.error as? DeferredError != .abandoned { link.reportUnhandled(input) }
        var result = Link.Payload.none
        if !isReleased {
            swap(&result, &step)
            result = Recording.isOn ? Recording.run(result, of: link, input) : result.run(input)
        } else if input.error is CancellationError {
            result = .failure(CancellationError())
        }
        if isWithinCall, let call = call?.assumingMemoryBound(to: Call.self) {
            call.pointee.link = link
            call.pointee.result = result
        } else {
            loop.concludeDispatched(link, result)
            loop.run()
        }
    }

    /// Whether this is within the call that submitted the work. (A call at the same address was for another
    /// step, or the same step was submitted from another address.)
    ///
    /// Sound: an address that the slot has is that of a call in progress on this thread.
    private var isWithinCall: Bool {
        guard let call, Call.slot.value == call else { return false }
        let step = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        return call.assumingMemoryBound(to: Call.self).pointee.step == step
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
    ///
    /// Sound: `DispatchedStep.submit` takes over the references to the step and the link. The address of
    /// `call` is in the thread's slot only during that call, and is valid then.
    @inline(never)
    mutating func submit(
        _ step: consuming DispatchedStep, of link: consuming Link, with input: consuming Link.Payload
    ) {
        let submitted = Unmanaged.passRetained(consume link)
        let owned = Unmanaged.passRetained(consume step)
        let scope = scope
        var input = Optional(consume input)
        var call = DispatchedStep.Call(step: owned.toOpaque())
        withUnsafeMutablePointer(to: &call) { call in
            guard let input = input.take() else { return }
            let outer = DispatchedStep.Call.slot.value
            DispatchedStep.Call.slot.value = UnsafeMutableRawPointer(call)
            DispatchedStep.submit(owned, submitted, input, scope, in: UnsafeMutableRawPointer(call))
            DispatchedStep.Call.slot.value = outer
        }
        if let link = call.link.take() {
            var result = Link.Payload.none
            swap(&result, &call.result)
            concludeDispatched(link, result)
        }
    }

    /// Continues with the result of a step that was submitted; `none` if its dispatcher has released it.
    fileprivate mutating func concludeDispatched(_ link: consuming Link, _ result: consuming Link.Payload) {
        if result.kind == .none { settle(link, failingWith: .abandoned) } else { conclude(link, result) }
    }
}

extension Link.Payload {
    /// Where the step runs or will run, if it names a dispatcher. Under the link's lock.
    ///
    /// Sound: a payload of the kind `none` has the address of a `DispatchedStep` only while the link is
    /// `dispatched`. The step takes the address back, under this lock, before it is deallocated.
    var destination: DispatchedStep.Destination? {
        guard kind == .dispatchedStep || kind == .none, let address = UnsafeRawPointer(bitPattern: bits.0)
        else { return nil }
        return Unmanaged<DispatchedStep>.fromOpaque(address)._withUnsafeGuaranteedRef { $0.destination }
    }
}
