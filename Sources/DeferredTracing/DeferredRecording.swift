public import Deferred

/// A record of what happened to Deferreds: which callback ran where and when, and what waited for what.
///
/// ```swift
/// let recording = DeferredDiagnostics.startRecording()
/// defer { recording.stop() }
/// …
/// try recording.chromeTrace().write(to: file, atomically: true, encoding: .utf8)
/// ```
///
/// A recording may start in the middle of chains: it contains what they do from then on. It keeps nothing alive, and
/// callbacks run where and when they would run without it. Values are not recorded. Of a failure the description is
/// recorded; the error's own `description` runs on the thread on which the failure arose, before callbacks receive
/// it.
///
/// Several recordings may be active at once. Recording costs nothing while it is off.
public final class DeferredRecording: Sendable {
    private let recorder: EventRecorder

    /// - Parameter now: Returns the time since the recording started.
    package init(limit: Int, madeIn places: [String], now: @escaping @Sendable () -> Duration) {
        recorder = EventRecorder(limit: limit, places: places, now: now)
        Recording.start(recorder)
    }

    deinit { stop() }

    /// Ends the recording and keeps its events. A second call does nothing.
    ///
    /// A recording also ends when the last reference to it is released.
    public func stop() {
        Recording.stop(recorder)
        recorder.stop()
    }

    /// Returns everything recorded so far, in the order in which it happened.
    ///
    /// - Complexity: O(*n*), where *n* is the number of events.
    public func events() -> [Event] { recorder.contents.events }

    /// The number of events after the first `limit`, which were not kept.
    public var droppedEventCount: Int { recorder.contents.dropped }

    /// The names of the threads in ``events()``, by their numbers.
    public var threadNames: [Int: String] { recorder.contents.threadNames }

    /// Returns the recording as a trace in JSON, for [Perfetto](https://ui.perfetto.dev) and `chrome://tracing`.
    ///
    /// The trace has a track for each thread with the callbacks that ran there; an arrow from each completion to the
    /// callbacks that it caused; and for each Deferred a span from its creation until it was settled, with what it
    /// waited for inside it. Callbacks that are still running and Deferreds that are still pending end with the
    /// recording and are marked.
    ///
    /// - Complexity: O(*n* log *n*), where *n* is the number of events.
    public func chromeTrace() -> String { ChromeTrace(RecordedRun(recorder.contents)).text }

    /// Returns the recording as a flowchart in [Mermaid](https://mermaid.js.org)'s language, which GitHub and many
    /// editors draw.
    ///
    /// Each Deferred is a box with how and where it was created, its outcome and how long it took. Arrows lead to what
    /// was attached to it, dotted ones from a nested Deferred to the one that waited for it. Mermaid draws at most 500
    /// arrows by default: use it for small runs, or record one part (`madeIn:`).
    ///
    /// - Complexity: O(*n* log *n*), where *n* is the number of events.
    public func mermaidGraph() -> String { MermaidGraph(RecordedRun(recorder.contents)).text }
}

/// Starts and ends recordings; see ``DeferredRecording``.
extension DeferredDiagnostics {
    /// Records what happens to Deferreds, on all threads, from now until ``DeferredRecording/stop()`` or until the
    /// returned recording is released.
    ///
    /// - Parameters:
    ///   - limit: The number of events to keep; later ones are only counted
    ///     (``DeferredRecording/droppedEventCount``). An event takes about 150 bytes.
    ///   - places: Modules and files, as in `#fileID`: `["App", "Networking/Client.swift"]`. Only Deferreds created
    ///     there are recorded; all of them if this is empty.
    public static func startRecording(
        limit: Int = 100_000, madeIn places: [String] = []
    ) -> DeferredRecording {
        let start = SuspendingClock.now
        return DeferredRecording(limit: limit, madeIn: places) { start.duration(to: .now) }
    }

    /// Records what happens to Deferreds, on all threads, while `body` runs, and passes the recording to `body`;
    /// see ``startRecording(limit:madeIn:)``.
    public static func withRecording<R>(
        limit: Int = 100_000, madeIn places: [String] = [], _ body: (DeferredRecording) throws -> R
    ) rethrows -> R {
        let recording = startRecording(limit: limit, madeIn: places)
        defer { recording.stop() }
        return try body(recording)
    }

    /// Records while an asynchronous `body` runs, on the caller's actor; otherwise as the synchronous form.
    public static func withRecording<R>(
        isolation: isolated (any Actor)? = #isolation, limit: Int = 100_000, madeIn places: [String] = [],
        _ body: (DeferredRecording) async throws -> R
    ) async rethrows -> R {
        let recording = startRecording(limit: limit, madeIn: places)
        defer { recording.stop() }
        return try await body(recording)
    }
}
