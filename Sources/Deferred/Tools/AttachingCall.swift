internal import Synchronization

/// Whether a closure runs inside the call that attaches or submits it. A loop of such calls then continues in the caller,
/// and takes no stack.
///
/// The thread's number stands for the call: as long as it is stored here, that thread is in the call, and what else runs
/// on the thread runs inside it.
///
/// Sound as `@unchecked Sendable`: `ranInside` is read and written by the attaching thread alone, which is the one
/// that finds its own number in `thread`.
package final class AttachingCall: @unchecked Sendable {
    private let thread = Atomic<UInt>(Platform.currentThread)
    private var ranInside = false

    package init() {}

    /// Called by the closure. Returns whether it runs inside the attaching call.
    package func noteRun() -> Bool {
        guard thread.load(ordering: .relaxed) == Platform.currentThread else { return false }
        ranInside = true
        return true
    }

    /// Called when the call has returned. Returns whether the closure ran inside it.
    package func end() -> Bool {
        thread.store(0, ordering: .relaxed)
        return ranInside
    }
}
