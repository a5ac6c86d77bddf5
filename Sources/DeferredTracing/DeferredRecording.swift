internal import Deferred

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
    let recorder: EventRecorder

    init(_ recorder: EventRecorder) {
        self.recorder = recorder
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
}
