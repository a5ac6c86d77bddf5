extension PlantedFault {
    /// Faults in attaching, in draining the callback list, and in pausing.
    static let draining = [
        PlantedFault(
            1, "the draining flag is cleared before the list is read again",
            foundBy: "attaching",
            change(
                "    func takeListOrBecomeIdle(_ wasPassedOn: Bool) -> ConsumerQueue {\n",
                """
                    func takeListOrBecomeIdle(_ wasPassedOn: Bool) -> ConsumerQueue {
                        if il_is_planted(1) {
                            let seen = lock()
                            if wasPassedOn { state.handle() }
                            unlock(seen & ~Word.draining)
                            let again = lock()
                            if again & ~Word.flags == 0 {
                                unlock(again)
                                return ConsumerQueue(takenFrom: 0)
                            }
                            let consumers = ConsumerQueue(takenFrom: again)
                            unlock(again & Word.flags | Word.draining)
                            return consumers
                        }

                """)),
        PlantedFault(
            3, "a link is settled without its lock", foundBy: "cancellers",
            change(
                "            let word = link.lock()\n            finish(link, word, result)",
                """
                            let word = il_is_planted(3) ? link.word.load(ordering: .relaxed) : link.lock()
                            finish(link, word, result)
                """)),
        PlantedFault(
            8, "a callback runs beside the drain loop, or in a pause", foundBy: "pauses",
            change(
                "guard !Recording.isOn, Link.isIdle(idle),",
                "guard !Recording.isOn, il_is_planted(8) && idle & Word.settled != 0 || Link.isIdle(idle),")),
        PlantedFault(
            19, "a callback is attached by what was seen before the lock was taken",
            foundBy: "cancellers",
            change(
                "let word = lock()\n        if word & Word.settled == 0 {\n            consumer",
                """
                let before = il_is_planted(19) ? self.word.load(ordering: .acquiring) : 0
                        let word = il_is_planted(19) ? lock() & ~Word.flags | before & Word.flags & ~1 : lock()
                        if word & Word.settled == 0 {
                            consumer
                """)),
        PlantedFault(
            25, "a callback attached while the list is drained runs at once",
            foundBy: "cancellers",
            change(
                "word & (Word.settled | Word.draining | Word.paused) == Word.settled",
                "word & (il_is_planted(25) ? Word.settled : Word.settled | Word.draining | Word.paused) == Word.settled"
            )),
        PlantedFault(
            26, "a list that grew while it was drained is dropped", foundBy: "shields",
            change(
                "} while !consumers.isEmpty\n        scope",
                "    if il_is_planted(26) { break }\n        } while !consumers.isEmpty\n        scope")),
        PlantedFault(
            93, "a list that grew, or a pause that began, during a step in place is dropped",
            foundBy: "pauses",
            change(
                "expected: draining,",
                "expected: il_is_planted(93) ? word.load(ordering: .relaxed) & ~Word.locked : draining,")),
        PlantedFault(
            10, "a pause that has ended meanwhile suspends the drain loop", foundBy: "pauses",
            change(
                "guard word & Word.paused != 0, let coldState = link.coldState else {",
                "guard il_is_planted(10) || word & Word.paused != 0, let coldState = link.coldState else {")),
        PlantedFault(
            17, "a pause is published outside of the lock", foundBy: "pauses",
            change(
                "        coldState.pauses += 1\n        unlock(word | Word.paused)",
                """
                        coldState.pauses += 1
                        if il_is_planted(17) {
                            unlock(word)
                            let later = self.word.load(ordering: .relaxed) & ~Word.locked
                            self.word.store(later | Word.paused, ordering: .relaxed)
                            return
                        }
                        unlock(word | Word.paused)
                """)),
        PlantedFault(
            27, "unpause() drains beside a drain loop that did not stop",
            foundBy: "pausing",
            change(
                "guard word & (Word.settled | Word.draining) == Word.settled, word",
                "guard word & (il_is_planted(27) ? Word.settled : Word.settled | Word.draining) == Word.settled, word"
            )),
        PlantedFault(
            28, "unpause() drops the follow-up work that the pause suspended",
            foundBy: "pausing",
            change(
                "if !suspended.isEmpty { loop.prepend",
                "if !suspended.isEmpty, !il_is_planted(28) { loop.prepend")
        ),
        PlantedFault(
            29, "consumers suspended by a pause keep their pointer to a link that may be deallocated",
            foundBy: "pausedHandles",
            change(
                "Link.forEach(in: word) { $0.point(toSuspended: link) }",
                "if !il_is_planted(29) { Link.forEach(in: word) { $0.point(toSuspended: link) } }"
            )),
        PlantedFault(
            30, "an unhandled failure: the drain loop does not note that it was passed on",
            foundBy: "errors",
            change(
                "            consumers = link.takeListOrBecomeIdle(wasPassedOn)\n",
                "            consumers = link.takeListOrBecomeIdle(wasPassedOn && !il_is_planted(30))\n")),
        PlantedFault(
            31, "reading currentResult does not count as handling", foundBy: "errors",
            change(
                "if payload.isFailure { locked",
                "if payload.isFailure && !il_is_planted(31) { locked")),
    ]
}
