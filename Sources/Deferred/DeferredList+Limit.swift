/// The inputs of a list that makes them as it goes. Each has a slot, a Deferred that is there from the
/// beginning and, once its turn has come, follows what `body` makes; whoever watches the list watches the
/// slots.
final class LimitedInputs<Value: Sendable>: Sendable {
    private struct Slot: Sendable {
        let deferred: Deferred<Value>
        let resolver: Resolver<Value>
        let begin: @Sendable () -> Deferred<Value>
    }

    private struct State {
        /// Those not begun, the next one last.
        var waiting: [Slot]
        /// How many more may be under way.
        var free: Int
        /// Somebody is in `beginSlots`, and will see what is freed.
        var isBeginning = false
        /// Results of the list that have been asked for, and have neither failed nor been cancelled.
        var askers = 0
    }

    let slots: [Deferred<Value>]
    let limit: Int
    private let state: Guarded<State>

    init<Input: Sendable>(
        _ inputs: [Input], _ limit: Int, _ body: @escaping @Sendable (Input) -> Deferred<Value>,
        _ fileID: StaticString, _ line: UInt
    ) {
        var slots: [Deferred<Value>] = []
        var waiting: [Slot] = []
        for input in inputs {
            let (deferred, resolver) = Deferred<Value>.withResolver(fileID: fileID, line: line)
            slots.append(deferred)
            waiting.append(Slot(deferred: deferred, resolver: resolver) { body(input) })
        }
        waiting.reverse()
        self.slots = slots
        self.limit = limit
        state = Guarded(State(waiting: waiting, free: limit))
    }

    /// Somebody asks for a result of the list.
    func addAsker() {
        state.withLock { $0.askers += 1 }
    }

    /// One who asked has failed, or wants no more: when nobody is left, what has not begun never begins.
    func removeAsker() {
        let isLast = state.withLock { state in
            state.askers -= 1
            return state.askers == 0
        }
        if isLast { stop() }
    }

    /// Begins slots while there is room. A loop, also where what `body` makes has fired already.
    func beginSlots() {
        while let slot = takeNext() {
            guard !slot.resolver.isCancelled else {
                giveBack()
                leave()
                continue
            }
            let begun = slot.begin()
            // Attached after those who watch for the list: the next begins when they have been told.
            slot.deferred.link.observe { [self] in
                giveBack()
                beginSlots()
            }
            // Cancelled while `body` ran: what that made is cancelled at once, as a callback's would be (C5).
            if !slot.deferred.link.follow(begun.link) { begun.cancel() }
            leave()
        }
    }

    /// The next slot to begin, for one caller at a time.
    private func takeNext() -> Slot? {
        state.withLock { state in
            guard !state.isBeginning, state.free > 0, let slot = state.waiting.popLast() else { return nil }
            state.free -= 1
            state.isBeginning = true
            return slot
        }
    }

    private func leave() {
        state.withLock { $0.isBeginning = false }
    }

    private func giveBack() {
        state.withLock { $0.free += 1 }
    }

    private func stop() {
        let never = state.withLock { state in
            var never: [Slot] = []
            swap(&never, &state.waiting)
            return never
        }
        for slot in never.reversed() where !slot.resolver.isCancelled {
            slot.resolver.reject(CancellationError())
        }
    }

    func cancel() {
        stop()
        for slot in slots { slot.cancel() }
    }
}
