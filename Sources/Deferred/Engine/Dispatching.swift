internal import Dispatch
internal import Synchronization

/// A step that runs on a dispatcher: a queue or any other. It is submitted when its link is dequeued; what follows from
/// it continues on the dispatcher's thread.
///
/// The work that is submitted retains this object and nothing else, and this object retains the link. Whoever takes the
/// link out of `submitted` owns the step: the work, which runs it; the `deinit`, if the dispatcher has released the work
/// without running it, so that the link fails with ``DeferredError/abandoned``; or, in that case, the drain loop that submits.
///
/// A dispatcher may run the work, or release it, within the call. What it ran on the calling thread leaves its result
/// here, for the drain loop that submits: that one continues with it after the others attached to the same Deferred (F4).
///
/// Once the work is submitted, this object no longer retains the dispatcher: one that is released with the work in it
/// releases that work.
///
/// Sound as `@unchecked Sendable`: `step`, `input`, `scope` and `submitter` are written before the link is stored in
/// `submitted`, and then belong to the thread that takes it out. `returned` and the result in `input` are written and
/// read by the submitter alone. `dispatcher` and `type` are accessed under the lock of the link whose payload this is.
@usableFromInline
final class DispatchedStep: @unchecked Sendable {
    /// Where the step is to run, until the work is submitted; then only a `DispatchQueue`, which libdispatch retains
    /// anyway for as long as it has work.
    private var dispatcher: (any Dispatcher)?
    /// The type of the dispatcher that was here.
    private var type: Any.Type?
    private var step: Link.Payload
    /// The outcome that the link waited for; after a run within the call, the step's result.
    private var input = Link.Payload.none
    private var scope: FinalizerScope?
    /// The thread that submits.
    private var submitter: UInt = 0
    /// The link after a run within the call.
    private var returned: Link?
    /// A reference to the link from when the work is submitted until it runs or is released, with the lowest bit set
    /// during the call that submits; 0 before and after.
    private let submitted = Atomic<UInt>(0)
    private static let duringCall: UInt = 1

    @usableFromInline
    init(_ dispatcher: any Dispatcher, _ step: consuming Link.Payload) {
        self.dispatcher = dispatcher.isQueue ? dispatcher : dispatcher.retainedByChains
        self.step = step
    }

    deinit {
        guard let link = takeLink(submitted.exchange(0, ordering: .acquiringAndReleasing)) else { return }
        var loop = DrainLoop(scope.take())
        let result = abandon(link, on: loop.thread)
        loop.conclude(consume link, result)
        loop.run()
    }

    /// Prepares to submit the step of `link`, and returns the dispatcher.
    fileprivate func prepare(
        _ link: consuming Link, _ input: consuming Link.Payload, _ scope: FinalizerScope?, on thread: UInt
    ) -> any Dispatcher {
        if Recording.isOn { Recording.dispatched(link, to: destination.name) }
        guard let dispatcher else { preconditionFailure("a step is submitted once") }
        self.input = input
        self.scope = scope
        submitter = thread
        let word = link.lock()
        let requests = link.becomeDispatched()
        link.activeThread = 0
        link.payload = .none(submittedBy: self)
        if !dispatcher.isQueue {
            type = Swift.type(of: dispatcher)
            self.dispatcher = nil
        }
        link.unlock(word)
        _ = consume requests
        let address = UInt(bitPattern: Unmanaged.passRetained(link).toOpaque())
        submitted.store(address | Self.duringCall, ordering: .releasing)
        return dispatcher
    }

    /// Submits the work. A function of its own, so that on its return this thread no longer retains the dispatcher, and
    /// `step` is retained by the caller and the dispatcher alone.
    @inline(never)
    fileprivate static func submit(_ step: DispatchedStep, to dispatcher: consuming any Dispatcher) {
        dispatcher.dispatch { step.run() }
    }

    /// Ends the call that submits. Returns the link if the work has run within it, on the same thread.
    fileprivate func endCall() -> Link? {
        let seen = submitted.bitwiseAnd(~Self.duringCall, ordering: .acquiringAndReleasing).oldValue
        return seen == 0 ? returned.take() : nil
    }

    /// The result of a run within the call.
    fileprivate func takeResult() -> Link.Payload {
        var result = Link.Payload.none
        swap(&result, &input)
        return result
    }

    /// Fails the link, whose work the dispatcher has released, and which the caller retains. Returns the link if it is
    /// not taken.
    fileprivate func takeReleased() -> Link? {
        takeLink(submitted.exchange(0, ordering: .acquiringAndReleasing))
    }

    /// Runs the step with the outcome, or with `CancellationError` if the link has been cancelled since (C5). Once.
    private func run() {
        let seen = submitted.exchange(0, ordering: .acquiringAndReleasing)
        guard let link = takeLink(seen) else { return }
        var step = Link.Payload.none
        swap(&step, &self.step)
        var input = takeResult()
        var loop = DrainLoop(scope.take())
        let isWithinCall = seen & Self.duringCall != 0 && submitter == loop.thread
        if link.isUnreachable(with: 0), link.isPlainAlone {
            _ = link.startRunning(on: loop.thread)
            let result = step.run(input)
            if isWithinCall { return leave(result, of: link) }
            loop.concludeUnreachable(consume link, result)
        } else {
            if begin(link, on: loop.thread) { input = .failure(CancellationError()) }
            let result = Recording.isOn ? Recording.run(step, of: link, input) : step.run(input)
            if isWithinCall { return leave(result, of: link) }
            loop.conclude(consume link, result)
        }
        loop.run()
    }

    private func leave(_ result: consuming Link.Payload, of link: Link) {
        input = result
        returned = link
    }

    /// Makes the link `running`. Returns whether it was cancelled while the work was queued (C5).
    private func begin(_ link: Link, on thread: UInt) -> Bool {
        let word = link.lock()
        // The payload has no reference: nothing is released under the lock.
        _ = link.startRunning(on: thread)
        let isCancelled = link.takeCancellation()
        link.unlock(word)
        return isCancelled
    }

    /// Makes the link `running`, and returns the failure that it ends with: that of a cancel, if there was one (C5).
    fileprivate func abandon(_ link: Link, on thread: UInt) -> Link.Payload {
        let wasCancelled = begin(link, on: thread) || takeResult().error is CancellationError
        // Not reported, unless a consumer takes it and leaves it unhandled (U1).
        link.disownFailure()
        return .failure(wasCancelled ? CancellationError() : DeferredError.abandoned)
    }

    /// Sound: the address is that of the reference that `prepare` made, which one exchange takes out.
    private func takeLink(_ submitted: UInt) -> Link? {
        UnsafeRawPointer(bitPattern: submitted & ~Self.duringCall).map {
            Unmanaged<Link>.fromOpaque($0).takeRetainedValue()
        }
    }

    /// Where a step runs or will run.
    struct Destination {
        /// Retained for its label; `nil` for a dispatcher of another type.
        let queue: DispatchQueue?
        let type: Any.Type

        /// The label of a queue that has one, else the type. Runs no code of a user's.
        var name: String {
            if let queue, !queue.label.isEmpty { return queue.label }
            return type == MainActorDispatcher.self ? "MainActor" : "\(type)"
        }
    }

    /// Where the step runs. Under the lock of the link whose payload this is.
    fileprivate var destination: Destination {
        let type: Any.Type = dispatcher.map { Swift.type(of: $0) } ?? type ?? Void.self
        return Destination(queue: dispatcher as? DispatchQueue, type: type)
    }
}

extension DrainLoop {
    /// Submits the step of a running link to its dispatcher, and continues with the result if the dispatcher ran or released
    /// the work within the call.
    @inline(never)
    mutating func submit(
        _ step: consuming DispatchedStep, of link: consuming Link, with input: consuming Link.Payload
    ) {
        DispatchedStep.submit(step, to: step.prepare(link, input, scope, on: thread))
        if let link = step.endCall() {
            conclude(link, step.takeResult())
        } else if isKnownUniquelyReferenced(&step), let link = step.takeReleased() {
            let result = step.abandon(link, on: thread)
            // What the step captured is released before the link is settled.
            _ = consume step
            conclude(link, result)
        }
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

extension Dispatcher {
    /// Whether it is a `DispatchQueue`.
    @inline(__always)
    fileprivate var isQueue: Bool { Self.self == DispatchQueue.self }
}
