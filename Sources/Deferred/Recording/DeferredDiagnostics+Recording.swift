internal import Dispatch

/// Recording a run; see ``DeferredRecording``.
extension DeferredDiagnostics {
    /// Records what happens to Deferreds, on all threads, from now until ``DeferredRecording/stop()``, or
    /// until nobody holds what this gives back.
    ///
    /// - Parameters:
    ///   - limit: How many events are kept, the first ones; later ones are counted (``DeferredRecording/droppedEventCount``). Of
    ///     the order of a hundred bytes each.
    ///   - places: Modules and files, as `#fileID` has them: `["App", "Networking/Client.swift"]`. Only Deferreds made there are
    ///     noted; all of them if this is left out.
    public static func startRecording(
        limit: Int = 100_000, madeIn places: [String] = []
    ) -> DeferredRecording {
        DeferredRecording(limit: limit, madeIn: places) { DispatchTime.now().uptimeNanoseconds }
    }

    /// Records what happens to Deferreds, on all threads, while `body` runs, which is given the recording;
    /// see ``startRecording(limit:madeIn:)``.
    public static func withRecording<R>(
        limit: Int = 100_000, madeIn places: [String] = [], _ body: (DeferredRecording) throws -> R
    ) rethrows -> R {
        let recording = startRecording(limit: limit, madeIn: places)
        defer { recording.stop() }
        return try body(recording)
    }

    /// As the synchronous form, for an asynchronous `body`, which runs on the caller's actor.
    public static func withRecording<R>(
        isolation: isolated (any Actor)? = #isolation, limit: Int = 100_000, madeIn places: [String] = [],
        _ body: (DeferredRecording) async throws -> R
    ) async rethrows -> R {
        let recording = startRecording(limit: limit, madeIn: places)
        defer { recording.stop() }
        return try await body(recording)
    }
}
