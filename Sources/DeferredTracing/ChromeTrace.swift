internal import Deferred

/// A recording in the Trace Event Format, which Perfetto and `chrome://tracing` read.
///
/// - Threads are tracks (`M`), what ran on them are complete events (`X`), nested as they ran in one another.
/// - A flow (`s`, `f`) leads from the completion of a Deferred to each callback that ran for it. A flow is bound to
///   the slice around its moment, so it starts within the slice that fired, at the latest a nanosecond before
///   its end.
/// - A Deferred is an asynchronous span (`b`, `e`), and what it waited for are spans inside it.
struct ChromeTrace {
    private let run: RecordedRun
    private var events: [(time: UInt64, text: String)] = []

    init(_ run: RecordedRun) {
        self.run = run
        for index in run.slices.indices { add(slice: index) }
        for number in run.items.indices.map({ $0 + 1 }) { add(deferred: number) }
    }

    var text: String {
        let threads = run.threadNames.sorted { $0.key < $1.key }
        let metadata =
            [Self.name("process_name", "Deferred", [])]
            + threads.map { Self.name("thread_name", $0.value, [("tid", "\($0.key)")]) }
        let sorted = events.enumerated()
            .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element.text)
        return """
            {"displayTimeUnit":"ns","otherData":{"droppedEvents":"\(run.droppedEventCount)"},"traceEvents":[
            \((metadata + sorted).joined(separator: ",\n"))
            ]}

            """
    }

    // MARK: Slices and flows

    private mutating func add(slice index: Int) {
        let slice = run.slices[index]
        let item = run.item(slice.deferred)
        let name = slice.activity == .callback ? item.name : "\(slice.activity) \(item.name)"
        let texts = [
            ("deferred", "\(slice.deferred)"), ("made", "\(item.made)"),
            ("queue", slice.queue.isEmpty ? nil : slice.queue),
            ("unfinished", slice.end != nil ? nil : "runs yet at the end of the recording"),
            ("fired", slice.activity.place.map { "\($0)" }),
        ]
        let duration = (slice.end ?? run.end) - slice.start
        add(
            "X", name, "\(slice.activity)", slice.start, slice.thread, [("dur", Self.microseconds(duration))],
            texts)
        guard let cause = slice.cause else { return }
        let origin = run.slices[cause.slice]
        let start = min(cause.time, (origin.end ?? run.end) - 1)
        let id = ("id", "\(index + 1)")
        add("s", "fires", "flow", start, origin.thread, [id])
        add("f", "fires", "flow", slice.start, slice.thread, [id, ("bp", Self.quoted("e"))])
    }

    // MARK: Spans

    private mutating func add(deferred number: Int) {
        let item = run.item(number)
        for pause in item.pauses {
            let name = "\(pause.isEnd ? "unpause" : "pause") \(item.name)"
            add(
                "i", name, "pause", pause.time, pause.thread, [("s", Self.quoted("t"))],
                [("deferred", "\(number)")])
        }
        if item.hadFired { return }
        func span(_ phase: String, _ name: String, _ time: UInt64, _ texts: [(String, String?)] = []) {
            let thread = phase == "b" ? item.firstThread : item.lastThread
            add(phase, name, "deferred", time, thread, [("id", "\(number)")], texts)
        }
        let upstream = item.attachedTo.map(name).joined(separator: ", ")
        span(
            "b", item.name, item.first,
            [
                ("deferred", "\(number)"), ("made", "\(item.made)"),
                ("attached to", upstream.isEmpty ? nil : upstream),
            ])
        // Spans of one Deferred have to lie in one another: those that end together end in reverse.
        for wait in item.waits { span("b", name(wait.object), wait.start) }
        for wait in item.waits.reversed() { span("e", name(wait.object), wait.end ?? run.end) }
        let result =
            switch (item.outcome, item.bypassedBy) {
            case (.value, _): "value"
            case (.failure(let text), _): "failure: \(text)"
            case (.cancelled, _): "cancelled"
            case (nil, let waiter?): "handed on to \(name(waiter))"
            case (nil, nil): "pending at the end of the recording"
            }
        span("e", item.name, item.end ?? run.end, [("outcome", result)])
    }

    private func name(_ object: RecordedRun.Wait.Object) -> String {
        switch object {
        case .nested(let inner): "waits for \(name(inner))"
        case .followed(let other): "follows \(name(other))"
        case .dispatcher(let dispatcher): "waits on \(dispatcher)"
        }
    }

    private func name(_ number: Int) -> String { "\(run.item(number).name) (\(number))" }

    // MARK: JSON

    /// Adds an event. `more` are members whose values are JSON, `texts` become its `args`.
    private mutating func add(
        _ phase: String, _ name: String, _ category: String, _ time: UInt64, _ thread: Int,
        _ more: [(String, String)], _ texts: [(String, String?)] = []
    ) {
        let members = [
            ("name", Self.quoted(name)), ("cat", Self.quoted(category)), ("ph", Self.quoted(phase)),
            ("pid", "1"), ("tid", "\(thread)"), ("ts", Self.microseconds(time)),
        ]
        let arguments = texts.compactMap { name, text in text.map { (name, Self.quoted($0)) } }
        let all = members + more + (texts.isEmpty ? [] : [("args", Self.object(arguments))])
        events.append((time, Self.object(all)))
    }

    /// Returns the event that names the process or a thread.
    private static func name(_ kind: String, _ name: String, _ more: [(String, String)]) -> String {
        let members = [("name", quoted(kind)), ("ph", quoted("M")), ("pid", "1")]
        return object(members + more + [("args", object([("name", quoted(name))]))])
    }

    private static func object(_ members: [(String, String)]) -> String {
        "{\(members.map { "\(quoted($0)):\($1)" }.joined(separator: ","))}"
    }

    /// The format counts in microseconds, and takes fractions.
    private static func microseconds(_ nanoseconds: UInt64) -> String {
        let fraction = String(nanoseconds % 1000)
        return "\(nanoseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
