extension PlantedFault {
    /// Faults in cancelling and in counting consumers.
    static let cancelling = [
        PlantedFault(
            4, "the last consumer is decided on in one critical section and consumers in another",
            foundBy: "last-consumer",
            change(
                "        consumer.isDetached = true\n        let isUnlinked",
                """
                        if il_is_planted(4) {
                            unlock(word)
                            word = lock()
                        }
                        consumer.isDetached = true
                        let isUnlinked
                """)),
        PlantedFault(
            5, "a cancel that comes after the outcome is forgotten", foundBy: "cancel-nested-return",
            change(
                "if link.rememberCancel(whileWaitingFor: upstream) { return }",
                "if il_is_planted(5) || link.rememberCancel(whileWaitingFor: upstream) { return }")),
        PlantedFault(
            9, "a source is failed in another critical section than the one that found it pending",
            foundBy: "cancel-resolve",
            change(
                "        guard let followed = following.first else {\n            finish(source, word",
                """
                        guard let followed = following.first else {
                            if il_is_planted(9) {
                                source.unlock(word)
                                let later = source.lock()
                                finish(source, later, .failure(CancellationError()))
                                return .done
                            }
                            finish(source, word
                """)),
        PlantedFault(
            16, "a second cancel of a link that has detached is forgotten",
            foundBy: "cancel-cancel-recover",
            change(
                "if link.rememberCancel() { return }",
                "if il_is_planted(16) || link.rememberCancel() { return }")),
        PlantedFault(
            18, "a cancel of a running callback is forgotten", foundBy: "cancel-nested-return",
            change(
                "            case .running, .linking:\n                link.flags.insert(.cancelPending)",
                "            case .running, .linking:\n                if !il_is_planted(18) { link.flags.insert(.cancelPending) }"
            )),
        PlantedFault(
            32, "a consumer that was cancelled before it was notified gets the value",
            foundBy: "cancel-before-notified",
            change(
                "let isCancelled = consumer.flags.remove(.cancelPending) != nil\n        consumer.unlock(word)",
                "let isCancelled = consumer.flags.remove(.cancelPending) != nil && !il_is_planted(32)\n        consumer.unlock(word)"
            )),
        PlantedFault(
            33, "a cancel that another thread's result overtook ends at the source",
            foundBy: "cancel-overtaken-below",
            change(
                "return wasOvertaken ? .comesLate : .done",
                "return wasOvertaken && !il_is_planted(33) ? .comesLate : .done")),
        PlantedFault(
            34, "the canceller runs once for each cancel", foundBy: "canceller-cancel-cancel",
            change(
                "let canceller = coldState.canceller.take() else {",
                "let canceller = il_is_planted(34) ? coldState.canceller : coldState.canceller.take() else {"),
            change(
                "guard !source.flags.contains(.cancellerRuns) else {",
                "guard il_is_planted(34) || !source.flags.contains(.cancellerRuns) else {")),
        PlantedFault(
            35, "a consumer that only observes keeps a Deferred from being cancelled",
            foundBy: "list-limit-start-cancel",
            change(
                "$0 !== consumer && !$0.onlyObserves",
                "$0 !== consumer && (!$0.onlyObserves || il_is_planted(35))")),
        PlantedFault(
            37, "the cancel of a shielded position reaches what it shields",
            foundBy: "shield-cancel-resolve-cancel",
            change(
                "source.flags.contains(.shielded) ? []",
                "source.flags.contains(.shielded) && !il_is_planted(37) ? []")),
    ]
}
