internal import Synchronization

/// A step that runs on a dispatcher. Its link's turn is when the work is handed over; the step runs when the
/// dispatcher gets to it, and what follows from it goes on from there, on the dispatcher's thread.
///
/// Once it is handed over the dispatcher alone holds this object. If that lets go of the work without having
/// run it, the link fails with ``DeferredError/abandoned``.
///
/// A dispatcher may run the work, or let it go, within the call. While that lasts the link is `handedOver`
/// with the calling thread as its `teller`; who finds himself on that thread leaves the result in the link,
/// still `running`, for the frame that hands over. No other thread touches the link then, except to cancel
/// it.
///
/// Sound as `@unchecked Sendable`: `link`, `input` and `scope` are written before the work is handed over,
/// and after that belong to whoever moves `state` to `begun`.
@usableFromInline
final class Handover: @unchecked Sendable {
    private enum State {
        static let waiting: UInt8 = 0
        static let handed: UInt8 = 1
        static let begun: UInt8 = 2
    }

    let dispatcher: any Dispatcher
    private let step: Link.Step
    private var link: Link?
    private var input = Link.Content.none
    private var scope: Scope?
    private let state = Atomic<UInt8>(State.waiting)

    @usableFromInline
    init(_ dispatcher: any Dispatcher, _ step: @escaping Link.Step) {
        self.dispatcher = dispatcher
        self.step = step
    }

    deinit { conclude { _, _ in .failure(DeferredError.abandoned) } }

    /// Hands a step over. Gives its result if the dispatcher ran it, or let it go, within the call: then the
    /// frame that hands over goes on with it in its turn, after the others attached to the same Deferred
    /// (F4).
    ///
    /// - Parameter handover: The only reference to it, which this takes.
    static func hand(
        _ handover: Unmanaged<Handover>, over link: Link, _ input: consuming Link.Content, _ scope: Scope?,
        on thread: UInt
    ) -> Link.Content? {
        prepare(handover.takeUnretainedValue(), link, input, scope, thread)
        dispatch(handover)

        let word = link.lock()
        defer { link.unlock(word) }
        var result = Link.Content.none
        guard link.teller == thread else { return nil }
        switch link.phase {
        case .handedOver:
            link.teller = 0
            return nil
        case .running:
            swap(&result, &link.content)
            return result
        default:
            return nil
        }
    }

    @inline(never)
    private static func prepare(
        _ handover: Handover, _ link: Link, _ input: consuming Link.Content, _ scope: Scope?, _ thread: UInt
    ) {
        if Recording.isOn { Recording.dispatched(link, to: handover.dispatcher) }
        handover.link = link
        handover.input = input
        handover.scope = scope
        let word = link.lock()
        link.phase = .handedOver
        link.teller = thread
        link.content = .none(handedOverTo: handover)
        link.unlock(word)
        handover.state.store(State.handed, ordering: .releasing)
    }

    /// Apart, so that on its return nothing but the dispatcher can hold the work.
    @inline(never)
    private static func dispatch(_ handover: Unmanaged<Handover>) {
        let handover = handover.takeRetainedValue()
        handover.dispatcher.dispatch { handover.conclude { handover.runStep(of: $0, with: $1) } }
    }

    private func runStep(of link: Link, with outcome: borrowing Link.Content) -> Link.Content {
        if Recording.isOn { return Recording.run(step, of: link, outcome) }
        return step(outcome)
    }

    /// Ends the handover, once, with what `body` gives for the outcome that the link waited for.
    private func conclude(_ body: (Link, borrowing Link.Content) -> Link.Content) {
        guard
            state.compareExchange(
                expected: State.handed, desired: State.begun, ordering: .acquiringAndReleasing
            )
            .exchanged,
            var link = self.link.take()
        else { return }
        let scope = self.scope.take()
        let start = begin(link)
        let result = body(link, start.outcome)
        if start.isWithinCall {
            let word = link.lock()
            link.content = result
            link.unlock(word)
            return
        }
        var frame = Frame(consume scope)
        frame.conclude(&link, result)
        frame.run()
    }

    /// Takes the input, or the cancel that came while the work waited for its turn (C5); and tells whether
    /// this is within the call that hands over.
    private func begin(_ link: Link) -> Start {
        var outcome = Link.Content.none
        swap(&outcome, &input)
        let thread = Platform.currentThread
        let word = link.lock()
        let isWithinCall = link.teller == thread
        let isCancelled = link.flags.remove(.cancelPending) != nil
        link.phase = .running
        link.teller = thread
        link.content = .none
        link.unlock(word)
        return Start(
            outcome: isCancelled ? .failure(CancellationError()) : outcome, isWithinCall: isWithinCall)
    }

    private struct Start: ~Copyable {
        let outcome: Link.Content
        let isWithinCall: Bool
    }
}
