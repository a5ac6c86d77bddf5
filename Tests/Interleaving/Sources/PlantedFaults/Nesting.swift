extension PlantedFault {
    /// Faults in nested results, following, cycles, dispatched callbacks and finalizers.
    static let nesting = [
        PlantedFault(
            6, "what follows from a step that its dispatcher runs at once overtakes other callbacks",
            foundBy: "kept",
            change(
                "        if submittingThread.load(ordering: .relaxed) == loop.thread {",
                "        if submittingThread.load(ordering: .relaxed) == loop.thread, !il_is_planted(6) {")),
        PlantedFault(
            7, "that work has begun is checked and noted in two steps, and its link left in place",
            foundBy: "dispatching",
            change(
                "let address = UnsafeRawPointer(bitPattern: submitted.exchange(0, ordering: .acquiringAndReleasing))",
                """
                let seen = il_is_planted(7) ? submitted.load(ordering: .acquiring) : submitted.exchange(0, ordering: .acquiringAndReleasing)
                        let address = UnsafeRawPointer(bitPattern: seen)
                        if il_is_planted(7), let address {
                            _ = Unmanaged<Link>.fromOpaque(address).retain()
                            submitted.store(0, ordering: .releasing)
                        }
                """)),
        PlantedFault(
            22, "a link that was notified while it was registered waits once more",
            foundBy: "unhandled",
            change(
                "        let isWaiting = waiter.phase == .waiting\n",
                "        if il_is_planted(22) { waiter.state = LinkState(.waiting, waiter.state.marks) }\n        let isWaiting = waiter.phase == .waiting\n"
            )),
        PlantedFault(
            40, "follow() ignores a completion that came first", foundBy: "joining",
            change(
                "        guard self.phase == phase else { return .isLate }",
                "        guard self.phase == phase || il_is_planted(40) else { return .isLate }")),
        PlantedFault(
            41, "a finalizer does not wait for a nested Deferred", foundBy: "finalizers",
            change(
                "        if scope != nil { retainScope(with: link) }\n        let word = link.lock()",
                "        if scope != nil, !il_is_planted(41) { retainScope(with: link) }\n        let word = link.lock()"
            )),
        PlantedFault(
            42, "a finalizer does not wait for a dispatched callback", foundBy: "finalizers",
            change(
                "{ retainScope(with: link) }\n        if link.isPassed, !input",
                "{ if !il_is_planted(42) { retainScope(with: link) } }\n        if link.isPassed, !input")),
        PlantedFault(
            86, "a step that is cancelled while it waits on its dispatcher runs with the value",
            foundBy: "dispatching",
            change(
                "        if isCancelled { input",
                "        if isCancelled, !il_is_planted(86) { input")),
        PlantedFault(
            87, "work that its dispatcher releases fails nothing",
            foundBy: "released",
            change(
                "deinit { if submitted.load(ordering: .relaxed) != 0 {",
                "deinit { if !il_is_planted(87), submitted.load(ordering: .relaxed) != 0 {"
            )),
        PlantedFault(
            43, "a finalizer does not wait for the end of a pause", foundBy: "pausedFinalizers",
            change(
                "coldState.retainedScope = word & ~Word.flags == 0 ?",
                "coldState.retainedScope = il_is_planted(43) || word & ~Word.flags == 0 ?")),
        PlantedFault(
            88, "a link is bypassed to which a cancel that comes up has a reference",
            foundBy: "bypass-twice-cancel",
            change(
                "guard isUniquelyReferenced, consumer.phase",
                // The cancel would begin again where the change of fault 96 asks: this is planted there as well.
                "guard il_is_planted(88) || isUniquelyReferenced, consumer.phase")),
        PlantedFault(
            24, "a finalizer is added by what was seen before the lock was taken",
            foundBy: "pausedFinalizers",
            change(
                "        guard word & Word.settled == 0 else {\n            unlock(word)",
                """
                        if il_is_planted(24) {
                            unlock(word)
                            let later = lock()
                            coldState.finalizers.append(.init(dispatcher: dispatcher, run: finalizer))
                            unlock(later)
                            return
                        }
                        guard word & Word.settled == 0 else {
                            unlock(word)
                """)),
    ]
}
