extension PlantedFault {
    /// Faults that the search found in the library, planted again where they were mended.
    static let mended = [
        PlantedFault(
            70, "the source and its resolvers' reference each drop a late result",
            foundBy: "resolvers",
            change(
                "let reference = sourceReference\n",
                "let reference = il_is_planted(70) ? nil : sourceReference\n")),
        PlantedFault(
            71, "a cancel follows a cycle endlessly before the search for cycles", foundBy: "cycles",
            change(
                "let isCyclic = returns > Self.greatestReturns",
                "let isCyclic = returns > Self.greatestReturns && !il_is_planted(71)"),
            change(
                "        guard inner.closesCycle(with: target)",
                "        if il_is_planted(71), let coldState = waiter.coldState { begin(coldState.requests.takeAll()) }\n        guard inner.closesCycle(with: target)"
            )),
        PlantedFault(
            72, "a canceller's result from another thread counts as a stranger's",
            foundBy: "canceller-resolves-elsewhere",
            change(
                "if completer == .canceller { coldState?.cancellerThread = loop.thread }",
                "if completer == .canceller && !il_is_planted(72) { coldState?.cancellerThread = loop.thread }"
            )),
        PlantedFault(
            73, "work retains the dispatcher that it was submitted to",
            foundBy: "released",
            change(
                "                self.dispatcher = nil\n",
                "                if !il_is_planted(73) { self.dispatcher = nil }\n"),
            change(
                "if let owned = self as? any OwnedDispatcher {",
                "if !il_is_planted(73), let owned = self as? any OwnedDispatcher {")),
        PlantedFault(
            74, "an abandonment that nothing waits for is reported", foundBy: "dispatching",
            change(
                "if isReleased { link.state.handle() }",
                "if isReleased, !il_is_planted(74) { link.state.handle() }")),
        PlantedFault(
            75, "a Task's cancel is forgotten that comes before the Task is suspended",
            foundBy: "awaits",
            change(
                "if awaiting.isAwaitCancelled { awaiting.cancel() }",
                "if !il_is_planted(75), awaiting.isAwaitCancelled { awaiting.cancel() }")),
        PlantedFault(
            76, "a Task that has its outcome is resumed by its cancel", foundBy: "awaits",
            change(
                "guard payload.kind == .awaiting else { return unlock",
                "guard il_is_planted(76) || payload.kind == .awaiting else { return unlock"
            )),
        PlantedFault(
            77,
            "a manual clock computes a due time in one critical section and schedules the work in another",
            in: "DeferredTesting", foundBy: "manualClock",
            change(
                "add(work) { $0 + max(delay, .zero) })",
                "add(work) { [now = elapsed] in (il_is_planted(77) ? now : $0) + max(delay, .zero) })"
            )),
        PlantedFault(
            79, "an element is lost that was put for a worker that was cancelled before it received it",
            foundBy: "workers",
            change(
                "        guard let storage, !wasReceived else",
                "        guard let storage, !wasReceived, !(isWorkers && il_is_planted(79)) else"
            )),
        PlantedFault(
            80, "a message that is posted while the retained one is delivered overtakes it",
            in: "Multicast", foundBy: "channel-listen-retained-post",
            change(
                "if let order, order.withLock({ $0.leave(message) }) { return }",
                "if !il_is_planted(80), let order, order.withLock({ $0.leave(message) }) { return }"
            )),
        PlantedFault(
            81, "a cancel is lost that comes while the canceller runs on another thread",
            foundBy: "canceller-resolves-later-cancel",
            change(
                "        if !isRoot { coldState?.requests.append(request) }\n",
                "        if !isRoot && !(action == .stay && il_is_planted(81)) { coldState?.requests.append(request) }\n"
            )),
        PlantedFault(
            82, "a cancel is lost that meets a follower which is about to settle its source",
            foundBy: "late-cancel-follow",
            change(
                "let isAnswered = follower.state.marks.contains(.wasProtected)",
                "let isAnswered = follower.state.marks.contains(.wasProtected) || il_is_planted(82)")),
        PlantedFault(
            83, "a cancel is lost that finds a follower settled",
            foundBy: "followers",
            change(
                "return false\n            }\n            if putsOff(request, at: link, word) {",
                "return il_is_planted(83)\n            }\n            if putsOff(request, at: link, word) {")),
        PlantedFault(
            84, "a cancel is lost for which a nested link settles too early", foundBy: "nested",
            change(
                "if mayHaveRequests {", "if mayHaveRequests && !il_is_planted(84) {")),
        PlantedFault(
            85, "a canceller's outcome does not reach what another cancel was for",
            foundBy: "cancellers",
            change(
                "let isCancellers = state.marks.contains(.cancellerRuns) && coldState?.cancellerThread == thread",
                "let isCancellers = state.marks.contains(.cancellerRuns) && coldState?.cancellerThread == thread && !il_is_planted(85)"
            )),
        PlantedFault(
            89, "a cancel takes effect once more after its root was interrupted", foundBy: "errors",
            change(
                "                if !isOpen {\n", "                if !isOpen && !il_is_planted(89) {\n")),
        PlantedFault(
            90, "a failure of work that was cancelled is reported", foundBy: "cancellers",
            change(
                "let wasCancelled = state.marks.contains(.cancelled) || ",
                "let wasCancelled = state.marks.contains(.cancelled) && !il_is_planted(90) || ")),
        PlantedFault(
            91, "a failure of work that was cancelled is reported where it was passed on",
            foundBy: "unhandled",
            change(
                "!outcome.isOfCancelledWork, ",
                "!outcome.isOfCancelledWork || il_is_planted(91) && !state.marks.contains(.cancelled), ")),
        PlantedFault(
            94, "a cancel that was answered does not end below what follows",
            foundBy: "answered-cancel-resolve",
            change("if link.isPassed, !inner", "if link.isPassed, !il_is_planted(94), !inner")),
        PlantedFault(
            95, "a cancel is dropped while the error of the one before is on its way",
            foundBy: "second-cancel-in-errback",
            change(
                "let roots = CancelRequest.securing(Link.unprotected",
                "let roots = il_is_planted(95) ? [] : CancelRequest.securing(Link.unprotected")),
        PlantedFault(
            96, "a cancel beside a cycle that is being broken is lost", foundBy: "cancel-beside-cycle",
            change(
                "guard request.root.waits(for: link, within: steps) else { return false }\n        request.end()",
                "guard il_is_planted(96) || il_is_planted(88) || request.root.waits(for: link, within: steps) else { return false }\n        request.end()"
            ),
            change("let isCancelled = isCyclic && ", "let isCancelled = isCyclic && !il_is_planted(96) && ")),
        PlantedFault(
            101, "a cancel ends that has come round in a cycle which was broken",
            foundBy: "cancel-beside-cycle",
            change(
                "guard request.root.waits(for: link, within: steps) else { return false }\n            let word",
                "guard il_is_planted(101) || request.root.waits(for: link, within: steps) else { return false }\n            let word"
            )),
        PlantedFault(
            98, "a cancel that meets a pause which is taking hold waits for its end",
            foundBy: "pause-inside-cancel",
            change(
                "if link.mayHaveInterruptedConsumers {",
                "if link.mayHaveInterruptedConsumers, !il_is_planted(98) {"),
            change(
                "guard upstream.isSuspended else {", "guard !il_is_planted(98), upstream.isSuspended else {")),
        PlantedFault(
            99, "an element is given back that was received", foundBy: "queue-get-cancel-received",
            change("if wasReceived || isReceived.exchange", "if il_is_planted(99) || isReceived.exchange")),
        PlantedFault(
            100, "a list that is decided leaves its observers", foundBy: "list-decided-cancel",
            change(
                "                loop.detachPending(observer)\n",
                "                if !il_is_planted(100) { loop.detachPending(observer) }\n")),
        PlantedFault(
            102, "a list with a limit leaves an input that a cancel has yet to reach",
            foundBy: "list-limit-cancel-adding",
            change(
                "if isConsumed { return .consumers }\n        return count == 1 && hasHook ?",
                """
                if isConsumed && !il_is_planted(102) { return .consumers }
                        return count == 1 && (hasHook || il_is_planted(102)) ?
                """)),
    ]
}
