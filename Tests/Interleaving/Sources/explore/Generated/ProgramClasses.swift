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
            operations: [.resolve, .cancel, .cancelSource],
            extras: [.action, .canceller]),
        ProgramClass(
            name: "dispatching", links: [.map, .mapManual, .thenManual, .recoverManual, .mapDropping],
            operations: [.resolve, .reject, .cancel, .runWork, .dropWork]),
        ProgramClass(
            name: "cancellers", links: [.map, .thenPending, .recover],
            operations: [.resolve, .cancel, .cancelSource, .attach], extras: [.canceller]),
        ProgramClass(
            name: "shields", links: [.map, .shielded, .thenPending],
            operations: [.resolve, .cancel, .attach],
            extras: [.action]),
        ProgramClass(
            name: "lists",
            links: [
                .map, .list(.results, ListOptions()), .list(.values, ListOptions(cancelsRemaining: true)),
                .list(.first, ListOptions(cancelsRemaining: true)),
                .list(.values, ListOptions(consumeErrors: true)),
            ], operations: [.resolve, .reject, .cancel], extras: [.canceller], greatestLinks: 2),
        ProgramClass(
            name: "limits",
            links: [
                .map, .limited(.values), .limited(.first), .limitedOfItself(.values),
                .limitedOfItself(.first),
            ], operations: [.resolve, .reject, .cancel], greatestLinks: 2),
        ProgramClass(
            name: "pauses", links: [.map, .thenPending],
            operations: [.resolve, .cancel, .pause, .unpause, .attach],
            extras: [.action], greatestLinks: 2),
        ProgramClass(
            name: "joining", links: [.map, .thenPending], operations: [.resolve, .cancel, .follow, .attach],
            greatestLinks: 2),
        ProgramClass(
            name: "finalizers", links: [.map, .thenPending, .mapManual],
            operations: [.resolve, .cancel, .runWork, .attach], extras: [.finalizer], greatestLinks: 2),
        ProgramClass(
            name: "handles", links: [.map, .thenPending, .recover, .follow],
            operations: [.resolve, .reject, .cancel, .drop, .dropSource], extras: [.action], greatestLinks: 2),
    ]
}
