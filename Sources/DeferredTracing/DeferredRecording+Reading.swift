public import Deferred

/// Reading a recording.
extension DeferredRecording {
    /// - Parameter now: Returns the time since the recording started.
    package convenience init(limit: Int, madeIn places: [String], now: @escaping @Sendable () -> Duration) {
        self.init(EventRecorder(limit: limit, places: places, now: now))
    }

    private var contents: EventRecorder.Contents { recorder.contents }

    /// Returns everything recorded so far, in the order in which it happened.
    ///
    /// - Complexity: O(*n*), where *n* is the number of events.
    public func events() -> [Event] { contents.events }

    /// The number of events after the first `limit`, which were not kept.
    public var droppedEventCount: Int { contents.dropped }

    /// The names of the threads in ``events()``, by their numbers.
    public var threadNames: [Int: String] { contents.threadNames }

    /// Returns the recording as a trace in JSON, for [Perfetto](https://ui.perfetto.dev) and `chrome://tracing`.
    ///
    /// The trace has a track for each thread with the callbacks that ran there; an arrow from each completion to the
    /// callbacks that it caused; and for each Deferred a span from its creation until it was settled, with what it
    /// waited for inside it. Callbacks that are still running and Deferreds that are still pending end with the
    /// recording and are marked.
    ///
    /// - Complexity: O(*n* log *n*), where *n* is the number of events.
    public func chromeTrace() -> String { ChromeTrace(RecordedRun(contents)).text }

    /// Returns the recording as a flowchart in [Mermaid](https://mermaid.js.org)'s language, which GitHub and many
    /// editors draw.
    ///
    /// Each Deferred is a box with how and where it was created, its outcome and how long it took. Arrows lead to what
    /// was attached to it, dotted ones from a nested Deferred to the one that waited for it. Mermaid draws at most 500
    /// arrows by default: use it for small runs, or record one part (`madeIn:`).
    ///
    /// - Complexity: O(*n* log *n*), where *n* is the number of events.
    public func mermaidGraph() -> String { MermaidGraph(RecordedRun(contents)).text }
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
