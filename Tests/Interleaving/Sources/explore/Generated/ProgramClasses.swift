extension ProgramClass {
    /// All classes.
    static let all = [
        ProgramClass(
            name: "nested", links: [.map, .thenPending, .thenSettled], operations: [.resolve, .cancel],
            extras: [.action]),
        ProgramClass(
            name: "errors", links: [.map, .recover, .orElsePending],
            operations: [.resolve, .reject, .cancel],
            extras: [.action]),
        ProgramClass(
            name: "following", links: [.map, .follow, .followAlso],
            operations: [.resolve, .cancel, .cancelSource, .dropSource],
            extras: [.action, .canceller]),
        // C5: what follows something that answers a cancel, and is cancelled again.
        ProgramClass(
            name: "answering", links: [.map, .follow, .orElsePending], operations: [.resolve, .cancel]),
        ProgramClass(
            name: "dispatching",
            links: [
                .map, .callback(.value, .echo, on: .stored), .callback(.value, .pending, on: .stored),
                .callback(.error, .value, on: .stored), .callback(.value, .echo, on: .dropping),
            ],
            operations: [.resolve, .reject, .cancel, .runWork, .dropWork, .dropSource]),
        ProgramClass(
            name: "cancellers", links: [.map, .thenPending, .recover],
            operations: [.resolve, .cancel, .cancelSource, .attach], extras: [.canceller]),
        ProgramClass(
            name: "shields", links: [.map, .shielded, .thenPending],
            operations: [.resolve, .cancel, .attach, .dropSource],
            extras: [.action]),
        ProgramClass(
            name: "lists",
            links: [
                .map, .list(.results), .list(.values, cancelsRemaining: true),
                .list(.first, cancelsRemaining: true),
                .list(.firstSettled, cancelsRemaining: true),
                .list(.values, consumesErrors: true),
            ], operations: [.resolve, .reject, .cancel, .dropSource], extras: [.canceller], greatestLinks: 2),
        ProgramClass(
            name: "limits",
            links: [
                .map, .limited(.values), .limited(.first), .limitedOfItself(.values),
                .limitedOfItself(.first),
            ], operations: [.resolve, .reject, .cancel], greatestLinks: 2),
        ProgramClass(
            name: "pauses", links: [.map, .thenPending],
            operations: [.resolve, .cancel, .pause, .unpause, .attach, .drop],
            extras: [.action], greatestLinks: 2),
        ProgramClass(
            name: "joining", links: [.map, .thenPending], operations: [.resolve, .cancel, .follow, .attach],
            greatestLinks: 2),
        ProgramClass(
            name: "finalizers", links: [.map, .thenPending, .callback(.value, .echo, on: .stored)],
            operations: [.resolve, .cancel, .runWork, .attach, .dropSource], extras: [.finalizer],
            greatestLinks: 2),
        ProgramClass(
            name: "handles", links: [.map, .thenPending, .recover, .follow],
            operations: [.resolve, .reject, .cancel, .drop, .dropSource, .look], extras: [.action],
            greatestLinks: 2),
        ProgramClass(
            name: "resolvers", links: [.map, .thenPending],
            operations: [.resolve, .reject, .cancel, .cancelSource, .dropResolver, .resolveKept],
            extras: [.canceller], greatestLinks: 2, sources: .resolver),
        ProgramClass(
            name: "timeouts", links: [.map, .thenPending, .recover, .timeout],
            operations: [.resolve, .reject, .cancel, .expire], extras: [.canceller]),
        ProgramClass(
            name: "listing", links: [.map, .thenPending],
            operations: [.resolve, .reject, .cancel, .list(.values), .list(.first), .cancelLast],
            greatestLinks: 1),
        ProgramClass(
            name: "cycles", links: [.map, .callback(.value, .link(11)), .callback(.value, .link(12))],
            operations: [.resolve, .cancel],
            greatestLinks: 2, sourceCount: 2),
        ProgramClass(
            name: "pausedFinalizers", links: [.map],
            operations: [.resolve, .cancel, .pause, .unpause, .finally],
            extras: [.finalizer], greatestLinks: 2),
        // Z2, D4: what is below a list that is cancelled.
        ProgramClass(
            name: "listedFinalizers",
            links: [
                .map, .list(.values), .callback(.either, .echo, on: .stored),
            ],
            operations: [.resolve, .cancel, .runWork], extras: [.finalizer], greatestLinks: 2),
        ProgramClass(
            name: "awaits", links: [.map, .task],
            operations: [.resolve, .reject, .cancel, .await, .cancelTask, .dropSource], extras: [.canceller],
            greatestLinks: 2),
        ProgramClass(
            name: "waits", links: [.map, .thenPending], operations: [.resolve, .reject, .cancel, .wait],
            greatestLinks: 2),
        ProgramClass(
            name: "waitsInside", links: [.map, .follow, .list(.first)],
            operations: [.resolve, .cancel, .wait], extras: [.action], greatestLinks: 2),
        ProgramClass(
            name: "timeLimits", links: [.map],
            operations: [.resolve, .timeout, .expire, .cancelLast], greatestLinks: 1),
        ProgramClass(
            name: "released", links: [.map, .callback(.value, .echo, on: .released)],
            operations: [.resolve, .reject, .cancel, .dropDispatcher, .dropSource], extras: [.finalizer],
            greatestLinks: 2),
        kept,
        // Few features each, so that all programs of size 5 and 6 are run in the time that CI has.
        ProgramClass(name: "attaching", links: [.map], operations: [.resolve, .attach], extras: [.action]),
        ProgramClass(
            name: "pausing", links: [.map], operations: [.resolve, .pauseSource, .unpauseSource, .attach]),
        ProgramClass(
            name: "pausedHandles", links: [.map],
            operations: [.resolve, .cancel, .dropSource, .dropResolver, .unpauseSource], extras: [.paused],
            greatestLinks: 2, sources: .resolver),
        ProgramClass(
            name: "followers", links: [.follow, .thenPending], operations: [.resolve, .cancel]),
        ProgramClass(name: "deep", links: [.map, .thenPending], operations: [.resolve, .cancel]),
        ProgramClass(
            name: "unhandled", links: [.thenPending, .map, .follow],
            operations: [.resolve, .reject, .drop, .cancelSource], extras: [.canceller], greatestLinks: 2),
    ]
}
