/// What happened to Deferreds while it was recorded: which callback ran where and when, and what waited for
/// what.
///
/// ```swift
/// let recording = DeferredDiagnostics.startRecording()
/// defer { recording.stop() }
/// …
/// try recording.chromeTrace().write(to: file, atomically: true, encoding: .utf8)
/// ```
///
/// It may begin when chains are half way: what they do from then on is noted, and a Deferred that was made
/// before is met when something first happens to it. It keeps nothing alive and changes nothing: callbacks
/// run where and when they would without. Values are not recorded. Of a failure its description is, made on
/// the thread on which it came about, before callbacks see it; so the error's own `description` runs then,
/// and what it says is in the trace.
///
/// Several recordings may go on at once. While none does, the library spends nothing on it that could be
/// measured.
public final class DeferredRecording: Sendable {
    private let recorder: Recorder

    package init(limit: Int, madeIn places: [String], now: @escaping @Sendable () -> UInt64) {
        recorder = Recorder(limit: limit, places: places, now: now)
        Recording.start(recorder)
    }

    deinit { stop() }

    /// Ends the recording; what it has noted stays. Does nothing the second time.
    ///
    /// It ends by itself when nobody holds it any more.
    public func stop() { Recording.stop(recorder) }

    /// Everything noted so far, in the order in which it happened.
    ///
    /// Made anew at each call, in time linear in the number of events.
    public func events() -> [Event] {
        let contents = recorder.contents
        return contents.pieces.joined().map { entry in
            let known = contents.known[Int(entry.deferred)]
            return Event(
                time: .nanoseconds(Int64(clamping: entry.time)), thread: Int(entry.thread),
                deferred: Int(entry.deferred) + 1, origin: known.origin, made: known.made,
                action: contents.action(of: entry))
        }
    }

    /// How many events there was no room for: those after the first `limit`.
    public var droppedEventCount: Int { recorder.contents.dropped }

    /// The names of the threads in ``events()``, by their numbers.
    public var threadNames: [Int: String] {
        recorder.contents.threadNames
    }

    /// The recording as a trace in JSON, for [Perfetto](https://ui.perfetto.dev) and `chrome://tracing`.
    ///
    /// There is a track for each thread, with each callback on it by what it is attached with and where; an
    /// arrow from what fired a Deferred to each callback that ran for that; and for each Deferred a span for
    /// how long it was pending, with what it waited for in it. Callbacks that run yet, and Deferreds that are
    /// pending yet, end with the recording and say so.
    public func chromeTrace() -> String { ChromeTrace(RecordedRun(recorder.contents)).text }

    /// The recording as a flowchart in [Mermaid](https://mermaid.js.org)'s language, which GitHub and many
    /// editors draw.
    ///
    /// Each Deferred is a box that says how and where it was made, what came of it and after how long; arrows
    /// go to what was attached to it, dotted ones from a nested Deferred to what waited for it. Mermaid draws
    /// up to 500 arrows unless it is told otherwise: a picture for a small run, or one that records little
    /// (`madeIn:`).
    public func mermaidGraph() -> String { MermaidGraph(RecordedRun(recorder.contents)).text }
}
