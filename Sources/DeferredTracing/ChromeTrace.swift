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
        let metadata =
            [
                Self.event(
                    [("name", "process_name"), ("ph", "M")], args: [("name", "Deferred")],
                    numbers: [("pid", 1)])
            ]
            + run.threadNames.sorted { $0.key < $1.key }.map { number, name in
                Self.event(
                    [("name", "thread_name"), ("ph", "M")], args: [("name", name)],
                    numbers: [("pid", 1), ("tid", number)])
            }
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
        var arguments = [("deferred", "\(slice.deferred)"), ("made", "\(item.made)")]
        if !slice.queue.isEmpty { arguments.append(("queue", slice.queue)) }
        if !slice.isFinished { arguments.append(("unfinished", "runs yet at the end of the recording")) }
        var name = "\(slice.activity) \(item.name)"
        if slice.activity == .callback { name = item.name }
        if let place = slice.activity.place { arguments.append(("fired", "\(place)")) }
        add(
            [("name", name), ("cat", "\(slice.activity)"), ("ph", "X")], slice.start, slice.thread,
            lasting: max(slice.end, slice.start + 1) - slice.start, arguments)
        guard let cause = slice.cause else { return }
        let origin = run.slices[cause.slice]
        let start = max(origin.start, min(cause.time, max(origin.end, origin.start + 1) - 1))
        let names = [("name", "fires"), ("cat", "flow")]
        add(names + [("ph", "s")], start, origin.thread, id: index + 1)
        add(names + [("ph", "f"), ("bp", "e")], slice.start, slice.thread, id: index + 1)
    }

    // MARK: Spans

    private mutating func add(deferred number: Int) {
        let item = run.item(number)
        for pause in item.pauses {
            let name = "\(pause.isEnd ? "unpause" : "pause") \(item.name)"
            add(
                [("name", name), ("cat", "pause"), ("ph", "i"), ("s", "t")], pause.time, pause.thread,
                [("deferred", "\(number)")])
        }
        if item.hadFired { return }
        var arguments = [("deferred", "\(number)"), ("made", "\(item.made)")]
        if !item.attachedTo.isEmpty {
            arguments.append(("attached to", item.attachedTo.map(name).joined(separator: ", ")))
        }
        span(item.name, number, "b", item.first, item.firstThread, arguments)
        // Spans of one Deferred have to lie in one another: those that end together end in reverse.
        let waits = item.waits.map { (name: name($0.object), start: $0.start, end: $0.end ?? run.end) }
        for wait in waits { span(wait.name, number, "b", wait.start, item.firstThread, []) }
        for wait in waits.reversed() { span(wait.name, number, "e", wait.end, item.lastThread, []) }
        let result =
            switch (item.outcome, item.bypassedBy) {
            case (.value, _): "value"
            case (.failure(let text), _): "failure: \(text)"
            case (.cancelled, _): "cancelled"
            case (nil, let waiter?): "handed on to \(name(waiter))"
            case (nil, nil): "pending at the end of the recording"
            }
        span(item.name, number, "e", item.end ?? run.end, item.lastThread, [("outcome", result)])
    }

    private func name(_ object: RecordedRun.Wait.Object) -> String {
        switch object {
        case .nested(let inner): "waits for \(name(inner))"
        case .followed(let other): "follows \(name(other))"
        case .dispatcher(let dispatcher): "waits on \(dispatcher)"
        }
    }

    private func name(_ number: Int) -> String {
        "\(run.item(number).name) (\(number))"
    }

    private mutating func span(
        _ name: String, _ number: Int, _ phase: String, _ time: UInt64, _ thread: Int,
        _ arguments: [(String, String)]
    ) {
        add(
            [("name", name), ("cat", "deferred"), ("ph", phase)], time, thread, id: number, arguments)
    }

    // MARK: JSON

    private mutating func add(
        _ texts: [(String, String)], _ time: UInt64, _ thread: Int, id: Int? = nil,
        lasting duration: UInt64? = nil, _ arguments: [(String, String)] = []
    ) {
        let numbers = [("pid", 1), ("tid", thread)] + (id.map { [("id", $0)] } ?? [])
        let times = [("ts", time)] + (duration.map { [("dur", $0)] } ?? [])
        events.append((time, Self.event(texts, args: arguments, numbers: numbers, times: times)))
    }

    private static func event(
        _ texts: [(String, String)], args: [(String, String)] = [], numbers: [(String, Int)],
        times: [(String, UInt64)] = []
    ) -> String {
        var members = texts.map { "\(quoted($0)):\(quoted($1))" }
        members += numbers.map { "\(quoted($0)):\($1)" }
        members += times.map { "\(quoted($0)):\(microseconds($1))" }
        if !args.isEmpty {
            let inner = args.map { "\(quoted($0)):\(quoted($1))" }.joined(separator: ",")
            members.append("\"args\":{\(inner)}")
        }
        return "{\(members.joined(separator: ","))}"
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
