internal import Deferred

/// A recording in the Trace Event Format, which Perfetto and `chrome://tracing` read.
///
/// - Threads are tracks (`M`), what ran on them are complete events (`X`), nested as they ran in one another.
/// - A flow (`s`, `f`) leads from the completion of a Deferred to each callback that ran for it. A flow is bound to
///   the slice around its moment, so it starts within the slice that completed it, at the latest a nanosecond before
///   its end.
/// - A Deferred is an asynchronous span (`b`, `e`), and what it waited for are spans inside it.
struct ChromeTrace {
    private let run: RecordedRun
    private var events: [(time: Duration, text: String)] = []

    init(_ run: RecordedRun) {
        self.run = run
        add("M", "process_name", "", .zero, 0, texts: [("name", "Deferred")])
        for (number, name) in run.contents.threadNames.sorted(by: { $0.key < $1.key }) {
            add("M", "thread_name", "", .zero, number, texts: [("name", name)])
        }
        for index in run.slices.indices { add(slice: index) }
        for number in run.items.indices.map({ $0 + 1 }) { add(deferred: number) }
    }

    var text: String {
        let sorted = events.sorted { $0.time < $1.time }.map(\.text)
        return """
            {"displayTimeUnit":"ns","otherData":{"droppedEvents":"\(run.contents.dropped)"},"traceEvents":[
            \(sorted.joined(separator: ",\n"))
            ]}

            """
    }

    // MARK: Slices and flows

    private mutating func add(slice index: Int) {
        let slice = run.slices[index]
        let start = slice.start
        let item = run.item(start.deferred)
        let name = slice.activity == .callback ? item.name : "\(slice.activity) \(item.name)"
        let duration = (slice.end ?? run.end) - start.time
        add(
            "X", name, "\(slice.activity)", start.time, start.thread,
            [("dur", Self.microseconds(duration))],
            texts: [
                ("deferred", "\(start.deferred)"), ("made", "\(item.made)"),
                ("queue", start.action.queue == "" ? nil : start.action.queue),
                ("unfinished", slice.end != nil ? nil : "runs yet at the end of the recording"),
                ("completed", slice.activity.place.map { "\($0)" }),
            ])
        guard let cause = slice.cause else { return }
        let origin = run.slices[cause.slice]
        let settled = min(cause.time, (origin.end ?? run.end) - .nanoseconds(1))
        let id = ("id", "\(index + 1)")
        add("s", "settles", "flow", settled, origin.start.thread, [id])
        add("f", "settles", "flow", start.time, start.thread, [id, ("bp", Self.quoted("e"))])
    }

    // MARK: Spans

    private mutating func add(deferred number: Int) {
        let item = run.item(number)
        for pause in item.pauses {
            let name = "\(pause.action.kind == .paused ? "pause" : "unpause") \(item.name)"
            add(
                "i", name, "pause", pause.time, pause.thread, [("s", Self.quoted("t"))],
                texts: [("deferred", "\(number)")])
        }
        if item.known.wasSettled { return }
        func span(_ phase: String, _ name: String, _ time: Duration, _ texts: [(String, String?)] = []) {
            let event = phase == "b" ? item.first : item.last ?? item.first
            add(phase, name, "deferred", time, event.thread, [("id", "\(number)")], texts: texts)
        }
        let upstream = item.attachedTo.map(name).joined(separator: ", ")
        span(
            "b", item.name, item.first.time,
            [
                ("deferred", "\(number)"), ("made", "\(item.made)"),
                ("attached to", upstream.isEmpty ? nil : upstream),
            ])
        // Spans of one Deferred have to lie in one another: those that end together end in reverse.
        for wait in item.waits { span("b", name(wait.start.action), wait.start.time) }
        for wait in item.waits.reversed() { span("e", name(wait.start.action), wait.end ?? run.end) }
        let result =
            switch (item.outcome, item.bypassedBy) {
            case (.value, _): "value"
            case (.failure(let text), _): "failure: \(text)"
            case (.cancelled, _): "cancelled"
            case (nil, let waiter?): "handed on to \(name(waiter))"
            case (nil, nil): "pending at the end of the recording"
            }
        span("e", item.name, item.last?.time ?? run.end, [("outcome", result)])
    }

    private func name(_ wait: DeferredRecording.Action) -> String {
        guard let other = wait.other else { return "waits on \(wait.queue ?? "")" }
        return "\(wait.kind == .waits ? "waits for" : "follows") \(name(other))"
    }

    private func name(_ number: Int) -> String { "\(run.item(number).name) (\(number))" }

    // MARK: JSON

    /// Adds an event. `more` are members whose values are JSON, `texts` become its `args`.
    private mutating func add(
        _ phase: String, _ name: String, _ category: String, _ time: Duration, _ thread: Int,
        _ more: [(String, String)] = [], texts: [(String, String?)] = []
    ) {
        let members = [
            ("name", Self.quoted(name)), ("cat", Self.quoted(category)), ("ph", Self.quoted(phase)),
            ("pid", "1"), ("tid", "\(thread)"), ("ts", Self.microseconds(time)),
        ]
        let arguments = texts.compactMap { name, text in text.map { (name, Self.quoted($0)) } }
        events.append((time, Self.object(members + more + [("args", Self.object(arguments))])))
    }

    private static func object(_ members: [(String, String)]) -> String {
        "{\(members.map { "\(quoted($0)):\($1)" }.joined(separator: ","))}"
    }

    /// The format counts in microseconds, and takes fractions.
    private static func microseconds(_ time: Duration) -> String { "\(time / .microseconds(1))" }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..."\u{1F}":
                quoted += "\\u00\(scalar.value / 16)\(String(scalar.value % 16, radix: 16))"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
