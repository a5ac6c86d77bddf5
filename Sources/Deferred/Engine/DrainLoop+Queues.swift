internal import Dispatch

/// Steps on a `DispatchQueue`. Unlike another dispatcher, a queue never runs work within the call that submits it,
/// and never releases work that it has not run, so that nothing has to watch for either.
extension DrainLoop {
    /// Submits the step of a running link, in `payload`, to its queue.
    ///
    /// Sound: the work takes the references to the link and the scope, and the parts of the input, once, as a queue
    /// runs its work once.
    @inline(never)
    mutating func submit(
        _ payload: consuming Link.Payload, of link: consuming Link, with outcome: borrowing Link.Payload
    ) {
        let queue = payload.queue
        if Recording.isOn, let name = payload.destination?.name { Recording.dispatched(link, to: name) }
        let input = outcome.copy().takeParts()
        let scope = scope.map { Unmanaged.passRetained($0) }
        let word = link.lock()
        // The payload stays in the link, where searches and descriptions find the queue.
        link.payload = payload
        let requests = link.becomeDispatched()
        link.activeThread = 0
        link.unlock(word)
        _ = consume requests
        let submitted = Unmanaged.passRetained(link)
        queue.async { DrainLoop.runSubmitted(submitted, input, scope) }
    }

    /// Runs a step on the queue's thread, with `CancellationError` if the link has been cancelled since (C5). Sound:
    /// it takes over the references that `submit` made.
    private static func runSubmitted(
        _ submitted: Unmanaged<Link>, _ input: (kind: Link.Payload.Kind, bits: Link.Payload.Bits),
        _ scope: Unmanaged<FinalizerScope>?
    ) {
        let link = submitted.takeRetainedValue()
        let input = Link.Payload(input.kind, input.bits)
        var drainLoop = DrainLoop(scope?.takeRetainedValue())
        if link.isUnreachable(with: 0), link.isPlainAlone {
            let result = link.startRunning(on: drainLoop.thread).takeStep().run(input)
            drainLoop.concludeUnreachable(consume link, result)
        } else {
            let word = link.lock()
            let step = link.startRunning(on: drainLoop.thread)
            let isCancelled = link.takeCancellation()
            link.unlock(word)
            let result =
                isCancelled
                ? drainLoop.run(step.takeStep(), of: link, .failure(CancellationError()))
                : drainLoop.run(step.takeStep(), of: link, input)
            drainLoop.conclude(consume link, result)
        }
        drainLoop.run()
    }

    private func run(
        _ step: consuming Link.Payload, of link: Link, _ outcome: borrowing Link.Payload
    ) -> Link.Payload {
        Recording.isOn ? Recording.run(step, of: link, outcome) : step.run(outcome)
    }
}

/// Steps on a `DispatchQueue`, which need no object of their own.
///
/// The function that runs a step captures nothing where it is specialised, so its context, the last word, has room
/// for the queue. A step that is not specialised is dispatched as to any other dispatcher.
///
/// Sound: the last word of a `queued` payload is a reference to a `DispatchQueue`, which `queued(on:)` retains, and
/// `takeStep` or `releaseQueuedStep` releases.
extension Link.Payload {
    /// Whether the last word of a step is free.
    var hasRoomForQueue: Bool { bits.3 == 0 }

    /// Stores the queue that a step is to run on.
    consuming func queued(on queue: DispatchQueue) -> Link.Payload {
        var bits = bits
        discard self
        bits.3 = UInt(bitPattern: Unmanaged.passRetained(queue).toOpaque())
        return Link.Payload(.queued, bits)
    }

    /// The queue of a `queued` payload.
    var queue: DispatchQueue {
        Unmanaged<DispatchQueue>.fromOpaque(UnsafeRawPointer(bitPattern: bits.3)!).takeUnretainedValue()
    }

    /// Takes the step out of a `queued` payload, and releases the queue.
    consuming func takeStep() -> Link.Payload {
        var bits = bits
        discard self
        Unmanaged<DispatchQueue>.fromOpaque(UnsafeRawPointer(bitPattern: bits.3)!).release()
        bits.3 = 0
        return Link.Payload(.step, bits)
    }

    static func releaseQueuedStep(_ bits: Bits) {
        Unmanaged<DispatchQueue>.fromOpaque(UnsafeRawPointer(bitPattern: bits.3)!).release()
        releaseStep((bits.0, bits.1, bits.2, 0))
    }
}

extension DispatchQueue {
    /// The queue that `dispatcher` is; nil if it is none.
    ///
    /// Sound where queues are a class of Swift's own: an existential with one protocol has three words for the
    /// value, which for an object is its reference, then its type, which in an empty optional is 0, and the
    /// conformance. (This costs 30 instructions; a cast, or the existential copied for `type(of:)`, hundreds.)
    @inline(__always)
    static func find(_ dispatcher: (any Dispatcher)?) -> DispatchQueue? {
        #if !canImport(ObjectiveC)
        assert(MemoryLayout<(any Dispatcher)?>.size == 5 * MemoryLayout<UInt>.size)
        return withUnsafePointer(to: dispatcher) {
            let words = UnsafeRawPointer($0).assumingMemoryBound(to: UInt.self)
            guard words[3] == unsafeBitCast(DispatchQueue.self as Any.Type, to: UInt.self) else { return nil }
            return Unmanaged<DispatchQueue>.fromOpaque(UnsafeRawPointer(bitPattern: words[0])!)
                .takeUnretainedValue()
        }
        #else
        return dispatcher as? DispatchQueue
        #endif
    }
}
