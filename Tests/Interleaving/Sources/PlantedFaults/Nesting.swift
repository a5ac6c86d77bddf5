extension PlantedFault {
    /// Faults in nested results, following, cycles, dispatched callbacks and finalizers.
    static let nesting = [
        PlantedFault(
            6, "the thread that submits a callback takes a result that another thread made",
            foundBy: "dispatch-cancel-run",
            change(
                "let isWithinCall = seen & Self.duringCall != 0 && submitter == loop.thread",
                "let isWithinCall = seen & Self.duringCall != 0 && (il_is_planted(6) || submitter == loop.thread)"
            )),
        PlantedFault(
            7, "that work has begun is checked and noted in two steps, and its link left in place",
            foundBy: "dispatch-twice",
            change(
                "        let seen = submitted.exchange(0, ordering: .acquiringAndReleasing)\n        guard let link",
                """
                        let seen = il_is_planted(7) ? submitted.load(ordering: .acquiring) : submitted.exchange(0, ordering: .acquiringAndReleasing)
                        if il_is_planted(7), seen != 0 {
                            _ = Unmanaged<Link>.fromOpaque(UnsafeRawPointer(bitPattern: seen & ~Self.duringCall)!).retain()
                            submitted.store(0, ordering: .releasing)
                        }
                        guard let link
                """)),
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
                "        self.scope = scope\n        submitter",
                "        self.scope = il_is_planted(42) ? nil : scope\n        submitter")),
        PlantedFault(
            86, "a step that is cancelled while it waits on its dispatcher runs with the value",
            foundBy: "dispatch-cancelled-run",
            change(
                "            if begin(link, on: loop.thread) { input",
                "            if begin(link, on: loop.thread), !il_is_planted(86) { input")),
        PlantedFault(
            87, "work that is released within the call that submits it fails nothing",
            foundBy: "dispatch-released-dispatcher",
            change(
                "isKnownUniquelyReferenced(&step), let link = step.takeReleased() {",
                "isKnownUniquelyReferenced(&step), let link = step.takeReleased(), !il_is_planted(87) {")),
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
