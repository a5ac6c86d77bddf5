internal import Synchronization

/// A step that runs on a dispatcher. Its link's turn is when the work is handed over; the step runs when the dispatcher
/// gets to it, and what follows from it goes on from there, on the dispatcher's thread.
///
/// If the dispatcher lets go of the work without having run it, the link fails with ``DeferredError/abandoned``.
///
/// Sound as `@unchecked Sendable`: `link`, `input` and `scope` are written before the work is handed over, and after that
/// belong to whoever moves `state` to `begun`; `immediateResult` belongs to the thread that hands over.
@usableFromInline
final class Handover: @unchecked Sendable {
    private enum State {
        static let waiting: UInt8 = 0
        static let handed: UInt8 = 1
        static let begun: UInt8 = 2
    }

    let dispatcher: any Dispatcher
    private let step: Link.Step
    private let state = Atomic<UInt8>(State.waiting)
    /// The thread that is inside `dispatch`, if any: a dispatcher may run the work there and then.
    private let handingThread = Atomic<UInt>(0)

    private var link: Link?
    private var input = Link.Content.none
    private var scope: Scope?
    private var immediateResult: Link.Content?

    @usableFromInline
    init(_ dispatcher: any Dispatcher, _ step: @escaping Link.Step) {
        self.dispatcher = dispatcher
        self.step = step
    }

    /// Hands the step over. Gives its result if the dispatcher ran it, or let it go, within the call: then the frame that hands
    /// over goes on with it in its turn, after the others attached to the same Deferred (F4).
    func hand(over link: Link, _ input: consuming Link.Content, _ scope: Scope?) -> Link.Content? {
        self.link = link
        self.input = input
        self.scope = scope
        link.locked {
            link.phase = .handedOver
            link.content = .none(handedOverTo: self)
        }
        handingThread.store(Platform.currentThread, ordering: .relaxed)
        state.store(State.handed, ordering: .releasing)
        dispatchWork()
        handingThread.store(0, ordering: .relaxed)
        // Only this thread can have set it, from inside the call.
        return immediateResult.take()
    }

    /// Apart, so that on its return nothing but the dispatcher can hold the work.
    @inline(never)
    private func dispatchWork() {
        let work = Work(self)
        dispatcher.dispatch {
            work.handover.conclude { $0.step($1) }
        }
    }

    /// What the dispatcher gets. Its end is the end of the handover, if that has not begun.
    private final class Work: Sendable {
        let handover: Handover

        init(_ handover: Handover) { self.handover = handover }

        deinit { handover.conclude { _, _ in .failure(DeferredError.abandoned) } }
    }

    /// Ends the handover, once, with what `body` gives for the outcome that the link waited for.
    private func conclude(_ body: (Handover, borrowing Link.Content) -> Link.Content) {
        guard
            state.compareExchange(
                expected: State.handed, desired: State.begun, ordering: .acquiringAndReleasing
            )
            .exchanged,
            var link = self.link.take()
        else { return }
        let scope = self.scope.take()
        let outcome = begin(link)
        if handingThread.load(ordering: .relaxed) == Platform.currentThread {
            immediateResult = body(self, outcome)
            return
        }
        var frame = Frame(consume scope)
        frame.conclude(&link, body(self, outcome))
        frame.run()
    }

    /// Takes the input, or the cancel that came while the work waited for its turn (C5).
    private func begin(_ link: Link) -> Link.Content {
        var outcome = Link.Content.none
        swap(&outcome, &input)
        let isCancelled = link.locked {
            link.phase = .running
            link.teller = Platform.currentThread
            link.content = .none
            return link.flags.remove(.cancelPending) != nil
        }
        return isCancelled ? .failure(CancellationError()) : outcome
    }
}
