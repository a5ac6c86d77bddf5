extension PlantedFault {
    /// Faults in nested results, following, cycles, dispatched callbacks and finalizers.
    static let nesting = [
        PlantedFault(
            6, "the thread that submits a callback takes a result that another thread made",
            foundBy: "dispatch-cancel-run",
            change(
                "guard link.activeThread == thread else { return nil }",
                "guard il_is_planted(6) || link.activeThread == thread else { return nil }")),
        PlantedFault(
            7, "that work has begun is checked and noted in two steps, and its link left in place",
            foundBy: "dispatch-twice",
            change(
                "            state.compareExchange(\n                expected: State.submitted",
                "            il_is_planted(7) ? takenInTwoSteps() : state.compareExchange(\n                expected: State.submitted"
            ),
            change(
                "    /// Takes the input, or the error",
                """
                    private func takenInTwoSteps() -> Bool {
                        if state.load(ordering: .acquiring) != State.submitted { return false }
                        state.store(State.begun, ordering: .releasing)
                        return true
                    }

                    /// Takes the input, or the error
                """),
            change(
                "let link = self.link.take()",
                "let link = il_is_planted(7) ? self.link : self.link.take()")),
        PlantedFault(
            15, "a cancel during the registration with a nested Deferred is forgotten",
            foundBy: "below-cancel-deep-3",
            change(
                "let isCancelled = waiter.takeCancellation()",
                "let isCancelled = waiter.takeCancellation() && !il_is_planted(15)")),
        PlantedFault(
            22, "a link that was notified while it was registered waits once more",
            foundBy: "nested-inner-fails-unhandled",
            change(
                "        let isWaiting = waiter.phase == .waiting\n",
                "        if il_is_planted(22) { waiter.phase = .waiting }\n        let isWaiting = waiter.phase == .waiting\n"
            )),
        PlantedFault(
            40, "follow() ignores a completion that came first", foundBy: "follow-resolve-first",
            change(
                "guard source.phase == phase else { return (false, false) }",
                "guard source.phase == phase || il_is_planted(40) else { return (false, false) }")),
        PlantedFault(
            41, "a finalizer does not wait for a nested Deferred", foundBy: "finally-nested",
            change(
                "            retainScope(with: link)\n            let word = link.lock()",
                "            if !il_is_planted(41) { retainScope(with: link) }\n            let word = link.lock()"
            )),
        PlantedFault(
            42, "a finalizer does not wait for a dispatched callback", foundBy: "finally-dispatched",
            change(
                "        dispatchedStep.scope = scope\n",
                "        dispatchedStep.scope = il_is_planted(42) ? nil : scope\n")),
        PlantedFault(
            43, "a finalizer does not wait for the end of a pause", foundBy: "pause-draining-downstream",
            change(
                "        coldState.retainedScope = scope\n",
                "        coldState.retainedScope = il_is_planted(43) ? nil : scope\n")),
        PlantedFault(
            24, "a finalizer is added by what was seen before the lock was taken",
            foundBy: "finally-finally-resolve",
            change(
                "        guard word & Word.settled == 0 else {\n            unlock(word)",
                """
                        if il_is_planted(24) {
                            unlock(word)
                            let later = lock()
                            coldState.finalizers.append(added)
                            unlock(later)
                            return
                        }
                        guard word & Word.settled == 0 else {
                            unlock(word)
                """)),
    ]
}
