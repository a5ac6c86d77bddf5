extension PlantedFault {
    /// Faults in cancelling and in counting consumers.
    static let cancelling = [
        PlantedFault(
            4, "the last consumer is decided on in one critical section and consumers in another",
            foundBy: "nested",
            change(
                "                locked = upstreamWord\n",
                """
                                locked = upstreamWord
                                if il_is_planted(4) {
                                    upstream.unlock(upstreamWord)
                                    locked = upstream.lock()
                                }

                """)),
        PlantedFault(
            5, "a cancel that comes after the outcome is forgotten", foundBy: "nested",
            change(
                "guard link.phase == .waiting, isSame else",
                "guard link.phase == .waiting, isSame, !il_is_planted(5) else"
            )),
        PlantedFault(
            9, "a source is failed in another critical section than the one that found it pending",
            foundBy: "cancellers",
            change(
                "            request.end()\n            finish(source, word",
                """
                            request.end()
                            if il_is_planted(9) {
                                source.unlock(word)
                                let later = source.lock()
                                finish(source, later, .failure(CancellationError()))
                                return true
                            }
                            finish(source, word
                """)),
        PlantedFault(
            16, "a second cancel of a link that is failing is forgotten",
            foundBy: "errors",
            change(
                "guard link.phase == .waiting || link.phase == .failing else {\n                link.unlock(word)\n                return false",
                """
                guard (link.phase == .waiting || link.phase == .failing) && !il_is_planted(16) else {
                                link.unlock(word)
                                return il_is_planted(16)
                """)),
        PlantedFault(
            18, "a cancel of a running callback is forgotten", foundBy: "nested",
            change(
                "            case .inTransition(let link, let word): isOver = leave(&request, in: link, word)",
                """
                            case .inTransition(let link, let word):
                                if il_is_planted(18) { return link.unlock(word) }
                                isOver = leave(&request, in: link, word)
                """)),
        PlantedFault(
            32, "a consumer that was cancelled before it was notified gets the value",
            foundBy: "nested",
            change(
                "let isCancelled = consumer.begin(on: thread)\n",
                "let isCancelled = consumer.begin(on: thread) && !il_is_planted(32)\n")),
        PlantedFault(
            33, "a cancel that another thread's result overtook ends at the source",
            foundBy: "nested",
            change(
                "let endsRequests = isAnswered || isCancellers",
                "let endsRequests = isAnswered || isCancellers || il_is_planted(33)")),
        PlantedFault(
            34, "the canceller runs once for each cancel", foundBy: "cancellers",
            change(
                "let canceller = coldState.canceller.take()\n        else",
                "let canceller = il_is_planted(34) ? coldState.canceller : coldState.canceller.take()\n        else"
            ),
            change(
                "guard action == .claimCanceller else { return true }",
                "guard action == .claimCanceller || il_is_planted(34) else { return true }")),
        PlantedFault(
            35, "a consumer that only observes keeps a Deferred from being cancelled",
            foundBy: "limits",
            change(
                "$0 !== consumer && !$0.onlyObserves",
                "$0 !== consumer && (!$0.onlyObserves || il_is_planted(35))")),
        PlantedFault(
            37, "the cancel of a shielded position reaches what it shields",
            foundBy: "shields",
            change(
                "            action = isFollowing && !marks.contains(.shielded)",
                "            action = isFollowing && (!marks.contains(.shielded) || il_is_planted(37))")),
    ]
}
