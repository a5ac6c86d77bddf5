public import Deferred
internal import Dispatch

/// Starts and ends recordings; see ``DeferredRecording``.
extension DeferredDiagnostics {
    /// Records what happens to Deferreds, on all threads, from now until ``DeferredRecording/stop()`` or until the
    /// returned recording is released.
    ///
    /// - Parameters:
    ///   - limit: The number of events to keep; later ones are only counted
    ///     (``DeferredRecording/droppedEventCount``). An event takes about 100 bytes.
    ///   - places: Modules and files, as in `#fileID`: `["App", "Networking/Client.swift"]`. Only Deferreds created
    ///     there are recorded; all of them if this is empty.
    public static func startRecording(
        limit: Int = 100_000, madeIn places: [String] = []
    ) -> DeferredRecording {
        DeferredRecording(limit: limit, madeIn: places) { DispatchTime.now().uptimeNanoseconds }
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
