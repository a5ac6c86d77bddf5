extension PlantedFault {
    /// Faults in completing sources, in abandonment, and in lists.
    static let sources = [
        PlantedFault(
            11, "a source in its deinit is retained", foundBy: "following",
            change(
                "        return alive == nil ? nil : held",
                "        return alive == nil && !il_is_planted(11) ? nil : held")),
        PlantedFault(
            44, "abandonment overwrites an outcome", foundBy: "resolvers",
            change(
                "guard phase == .source else { return .isIgnored }",
                "guard phase == .source || il_is_planted(44) else { return .isIgnored }"),
            change(
                "if marks.contains(.cancelled) || isFollowing {",
                "if !il_is_planted(44), marks.contains(.cancelled) || isFollowing {")),
        PlantedFault(
            45, "two completions: the second is not refused", foundBy: "joining",
            change(
                "        guard phase == .source else {\n            reportLate",
                "        guard il_is_planted(45) || phase == .source else {\n            reportLate")),
        PlantedFault(
            46, "the drain loop completes a source that was completed meanwhile",
            foundBy: "joining",
            change(
                "        let isPending = source.phase == .source\n",
                "        let isPending = il_is_planted(46) || source.phase == .source\n")),
        PlantedFault(
            13, "two inputs decide the outcome of a list", foundBy: "lists",
            change(
                "guard isUndecided else { return .isLate }",
                "guard isUndecided || il_is_planted(13) && link != nil else { return .isLate }"
            ),
            change(
                "guard isUndecided, remaining",
                "guard isUndecided || il_is_planted(13) && link != nil, remaining")),
        PlantedFault(
            21, "a list that is cancelled keeps its own Deferred as pending",
            foundBy: "lists",
            change(
                "guard link.take() != nil else { return .isBeingSettled }",
                "guard (il_is_planted(21) ? link : link.take()) != nil else { return .isBeingSettled }"
            )),
        PlantedFault(
            47, "a list misses that it was decided while its inputs were attached",
            foundBy: "listing",
            change(
                "if state.withLock({ $0.endAttaching(&observers) }) == .settle {",
                "if state.withLock({ $0.endAttaching(&observers) }) == .settle, !il_is_planted(47) {")),
        PlantedFault(
            48, "a list is settled before all its inputs are attached",
            foundBy: "listing",
            change(
                "decision != nil && !isAttaching ? .settle",
                "decision != nil && (!isAttaching || il_is_planted(48)) ? .settle")),
        PlantedFault(
            49, "two threads start inputs of a limited list at once", foundBy: "kept",
            change(
                "if isStarting { return .isInProgress }",
                "if isStarting, !il_is_planted(49) { return .isInProgress }")),
        PlantedFault(
            50, "wait() misses an outcome: it is published after the signal", foundBy: "waits",
            change(
                "                outcome.withLock { $0 = result }\n                semaphore.signal()",
                """
                                if il_is_planted(50) { semaphore.signal() }
                                outcome.withLock { $0 = result }
                                if !il_is_planted(50) { semaphore.signal() }
                """)),
        PlantedFault(
            51, "wait() takes a drain loop of another thread for its own", foundBy: "waits",
            change(
                "isFound = link.activeThread == thread",
                "isFound = il_is_planted(51) || link.activeThread == thread"),
            change(
                "isFound = isDraining && link.activeThread == thread",
                "isFound = isDraining && (il_is_planted(51) || link.activeThread == thread)")),
    ]
}
