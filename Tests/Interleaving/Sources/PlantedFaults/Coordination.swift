extension PlantedFault {
    /// Faults in semaphores, queues, caches and timers.
    static let coordination = [
        PlantedFault(
            23, "a permit released while another caller joins the queue is not passed on",
            foundBy: "semaphore",
            change(
                "        grant()\n        return deferred",
                "        if !il_is_planted(23) { grant() }\n        return deferred")),
        PlantedFault(
            52, "a permit is released twice", foundBy: "semaphore",
            change(
                "if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { semaphore.takeBack(units) }",
                """
                if il_is_planted(52) {
                                if isReleased.load(ordering: .acquiring) { return }
                                isReleased.store(true, ordering: .releasing)
                                return semaphore.takeBack(units)
                            }
                            if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { semaphore.takeBack(units) }
                """)),
        PlantedFault(
            103, "a large request that is cancelled does not admit those that wait behind it",
            foundBy: "units",
            change(
                "if case .leftBeforeOthers = state.withLock({ $0.leave(ticket) }) { grant() }",
                "if case .leftBeforeOthers = state.withLock({ $0.leave(ticket) }), !il_is_planted(103) { grant() }"
            )),
        PlantedFault(
            104, "a caller joins the queue that can never be served, since the limit was lowered meanwhile",
            foundBy: "changingLimit",
            change(
                "            if let fault = Self.fault(waiter.units, limit) { return .refused(fault) }",
                "            if !il_is_planted(104), let fault = Self.fault(waiter.units, limit) { return .refused(fault) }"
            )
        ),
        PlantedFault(
            105, "removeAll makes room that nobody who waits for it gets", foundBy: "discarding",
            change(
                "if effects.entered == nil { return (removed, entered) }",
                "if effects.entered == nil || il_is_planted(105) { return (removed, entered) }")),
        PlantedFault(
            106, "a pause that has passed begins the body of a later call", foundBy: "flushing",
            change(
                "guard let entry = waiting, number?.value ?? entry.number == entry.number else",
                "guard let entry = waiting, il_is_planted(106) || number?.value ?? entry.number == entry.number else"
            )
        ),
        PlantedFault(
            54,
            "a queue searches for elements in one critical section and enqueues the waiting caller in another",
            foundBy: "queue",
            change(
                "            let (element, effects) = takeFirst()\n            if let element {",
                "            let (element, effects) = il_is_planted(54) && waiter != nil ? (nil as QueueElement?, Effects()) : takeFirst()\n            if let element {"
            )),
        PlantedFault(
            55, "an element is lost that was put for a caller who has cancelled",
            foundBy: "getting",
            change(
                "            if !getter.isWorker { endDelivery",
                "            if il_is_planted(55) { element.receive() }\n            if !getter.isWorker { endDelivery"
            )),
        PlantedFault(
            56, "a timer that was stopped while it was set still expires",
            foundBy: "timeLimits",
            change(
                "        if case .stopped = before { scheduled.cancel() }",
                "        if case .stopped = before, !il_is_planted(56) { scheduled.cancel() }")),
        PlantedFault(
            57, "a timer that has expired is set", foundBy: "timeLimits",
            change(
                "let before = state.exchange { if case .new = $0 {",
                "let before = state.exchange { if case .expired = $0, il_is_planted(57) { .set(scheduled) } else if case .new = $0 {"
            )),
        PlantedFault(
            92, "a permit is passed on before the list that its holder decides has cancelled the rest",
            foundBy: "remaining",
            change(
                "if isAwaited, link.leadsToCancellingList {",
                "if isAwaited, link.leadsToCancellingList, !il_is_planted(92) {")),
    ]

    /// Faults in Multicast.
    static let others = [
        PlantedFault(
            58, "a reader enters without regard to a writer", in: "Multicast",
            foundBy: "readersWriter",
            change(
                "guard arrivals.wrappingAdd(1, ordering: .acquiring).newValue < 0 else { return }",
                "guard arrivals.wrappingAdd(1, ordering: .acquiring).newValue < 0, !il_is_planted(58) else { return }"
            )),
        PlantedFault(
            59, "a writer admits one reader too few", in: "Multicast",
            foundBy: "readersWriter",
            change(
                "for _ in 0..<readers { readersMayEnter.signal() }",
                "for _ in 0..<(il_is_planted(59) ? max(0, readers - 1) : readers) { readersMayEnter.signal() }"
            )),
        PlantedFault(
            60, "the last reader does not wake the writer", in: "Multicast",
            foundBy: "readersWriter",
            change(
                "if rest == Self.sleepMark { writerMayEnter.signal() }",
                "if rest == Self.sleepMark, !il_is_planted(60) { writerMayEnter.signal() }")),
        PlantedFault(
            61, "a writer does not wait for the readers that are inside", in: "Multicast",
            foundBy: "readersWriter",
            change(
                "        guard readers > 0 else { return }\n        departures",
                "        guard readers > 0, !il_is_planted(61) else { return }\n        departures")),
        PlantedFault(
            62, "a delegate is called that was removed while the call was on its way", in: "Multicast",
            foundBy: "delegates",
            change(
                "        if isRemoved { return nil }\n",
                "        if isRemoved && !il_is_planted(62) { return nil }\n")),
        PlantedFault(
            63, "a removal loses a delegate that is added meanwhile", in: "Multicast",
            foundBy: "delegates",
            change(
                "if !removed.isEmpty { _ = state.withLock { $0.unlink(removed) } }",
                """
                if il_is_planted(63), !removed.isEmpty {
                            let copy = state.withLock { $0 }
                            var changed = copy
                            _ = changed.unlink(removed)
                            state.withLock { $0 = changed }
                            return
                        }
                        if !removed.isEmpty { _ = state.withLock { $0.unlink(removed) } }
                """)),
    ]
}
