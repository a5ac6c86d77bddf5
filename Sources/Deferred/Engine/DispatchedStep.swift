internal import Dispatch
internal import Synchronization

/// A step that runs on a dispatcher. It is submitted when its link is dequeued; what follows from it
/// continues on the dispatcher's thread.
///
/// Once the work is submitted, the dispatcher alone retains this object, and this object no longer retains
/// the dispatcher: one that is released with the work in it releases that work. If a dispatcher releases the
/// work without having run it, the link fails with ``DeferredError/abandoned``.
///
/// A dispatcher may run the work, or release it, within the call. During the call the link is `dispatched`,
/// with the calling thread as its `activeThread`. If the work is run or released on that thread meanwhile,
/// the result is left in the link, still `running`, for the drain loop that submits. No other thread touches
/// the link then, except to cancel it.
///
/// Sound as `@unchecked Sendable`: `link`, `input`, `scope` and `step` are written before the work is
/// submitted, and then belong to the thread that moves `state` to `begun`. `dispatcher` is accessed under the
/// link's lock.
@usableFromInline
final class DispatchedStep: @unchecked Sendable {
    private enum State {
        static let waiting: UInt8 = 0
        static let submitted: UInt8 = 1
        static let begun: UInt8 = 2
    }

    /// Where the step is to run, until the work is submitted; then only a `DispatchQueue`, which libdispatch
    /// retains anyway for as long as it has work. Under the lock of the link whose payload this is.
    private var dispatcher: (any Dispatcher)?
    private let dispatcherType: any Dispatcher.Type
    private var step: Link.Payload
    private var link: Link?
    private var input = Link.Payload.none
    private var scope: FinalizerScope?
    private let state = Atomic<UInt8>(State.waiting)

    @usableFromInline
    init(_ dispatcher: any Dispatcher, _ step: consuming Link.Payload) {
        self.dispatcher = dispatcher.retainedByChains
        dispatcherType = type(of: dispatcher)
        self.step = step
    }

    deinit {
        // A link that was cancelled ends with the cancel (C5).
        conclude(isAbandoned: true) { _, outcome in
            .failure(outcome.error is CancellationError ? CancellationError() : DeferredError.abandoned)
        }
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
    var destination: Destination { Destination(queue: dispatcher as? DispatchQueue, type: dispatcherType) }

    /// Submits a step to its dispatcher. Returns its result if the dispatcher ran or released it within the
    /// call: the drain loop that submits then continues with it, after the others attached to the same
    /// Deferred (F4).
    ///
    /// - Parameter step: The only reference to the step. Sound: this consumes it, in `dispatch`.
    static func submit(
        _ step: Unmanaged<DispatchedStep>, of link: Link, _ input: consuming Link.Payload,
        _ scope: FinalizerScope?,
        on thread: UInt
    ) -> Link.Payload? {
        dispatch(step, to: prepare(step.takeUnretainedValue(), link, input, scope, thread))

        let word = link.lock()
        defer { link.unlock(word) }
        var result = Link.Payload.none
        guard link.activeThread == thread else { return nil }
        switch link.phase {
        case .dispatched:
            link.activeThread = 0
            return nil
        case .running:
            swap(&result, &link.payload)
            return result
        default:
            return nil
        }
    }

    @inline(never)
    private static func prepare(
        _ dispatchedStep: DispatchedStep, _ link: Link, _ input: consuming Link.Payload,
        _ scope: FinalizerScope?, _ thread: UInt
    ) -> any Dispatcher {
        if Recording.isOn { Recording.dispatched(link, to: dispatchedStep.destination.name) }
        guard let dispatcher = dispatchedStep.dispatcher else {
            preconditionFailure("a step is submitted once")
        }
        let isQueue = dispatcher is DispatchQueue
        dispatchedStep.link = link
        dispatchedStep.input = input
        dispatchedStep.scope = scope
        let word = link.lock()
        let requests = link.becomeDispatched()
        link.activeThread = thread
        link.payload = .none(submittedBy: dispatchedStep)
        if !isQueue { dispatchedStep.dispatcher = nil }
        link.unlock(word)
        _ = consume requests
        dispatchedStep.state.store(State.submitted, ordering: .releasing)
        return dispatcher
    }

    /// A function of its own, so that on its return only the dispatcher retains the work, and this retains no
    /// dispatcher.
    @inline(never)
    private static func dispatch(
        _ dispatchedStep: Unmanaged<DispatchedStep>, to dispatcher: consuming any Dispatcher
    ) {
        let dispatchedStep = dispatchedStep.takeRetainedValue()
        dispatcher.dispatch { dispatchedStep.conclude { dispatchedStep.runStep(of: $0, with: $1) } }
    }

    private func runStep(of link: Link, with outcome: borrowing Link.Payload) -> Link.Payload {
        var step = Link.Payload.none
        swap(&step, &self.step)
        return Recording.isOn ? Recording.run(step, of: link, outcome) : step.run(outcome)
    }

    /// Continues the link, once, with the result of `body` for the outcome that it waited for.
    private func conclude(
        isAbandoned: Bool = false, _ body: (Link, borrowing Link.Payload) -> Link.Payload
    ) {
        guard
            state.compareExchange(
                expected: State.submitted, desired: State.begun, ordering: .acquiringAndReleasing
            )
            .exchanged,
            let link = self.link.take()
        else { return }
        let scope = self.scope.take()
        let start = begin(link)
        // An abandonment is not reported, unless a consumer takes it and leaves it unhandled (U1).
        if isAbandoned { link.disownFailure() }
        let result = body(link, start.outcome)
        if start.isWithinCall {
            let word = link.lock()
            link.payload = result
            link.unlock(word)
            return
        }
        var loop = DrainLoop(consume scope)
        loop.conclude(consume link, result)
        loop.run()
    }

    /// Takes the input, or the error of a cancel that arrived while the work was queued (C5), and finds out whether
    /// this runs within the call that submits.
    private func begin(_ link: Link) -> Start {
        var outcome = Link.Payload.none
        swap(&outcome, &input)
        let thread = Platform.currentThread
        let word = link.lock()
        let isWithinCall = link.activeThread == thread
        let isCancelled = link.takeCancellation()
        link.phase = .running
        link.activeThread = thread
        link.payload = .none
        link.unlock(word)
        return Start(
            outcome: isCancelled ? .failure(CancellationError()) : outcome, isWithinCall: isWithinCall)
    }

    private struct Start: ~Copyable {
        let outcome: Link.Payload
        let isWithinCall: Bool
    }
}

extension Link.Payload {
    /// Where the step runs or will run, if it names a dispatcher. Under the link's lock.
    ///
    /// Sound: a payload of the kind `none` has the address of a `DispatchedStep` only while the link is
    /// `dispatched`. The step takes the address back, under this lock, before it is deallocated.
    var destination: DispatchedStep.Destination? {
        switch kind {
        case .queued: return DispatchedStep.Destination(queue: queue, type: DispatchQueue.self)
        case .dispatchedStep, .none:
            guard let address = UnsafeRawPointer(bitPattern: bits.0) else { return nil }
            return Unmanaged<DispatchedStep>.fromOpaque(address)._withUnsafeGuaranteedRef { $0.destination }
        default: return nil
        }
    }
}
