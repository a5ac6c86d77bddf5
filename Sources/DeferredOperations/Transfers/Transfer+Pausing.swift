internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Pauses a transfer until the consumer of its body has caught up.
extension Transfer {
    /// Stops receiving until `unpause()`; silence does not count meanwhile. Under the lock; the transfer is running.
    ///
    /// Where a task cannot be suspended (swift-corelibs-foundation would send the request again), it is cancelled, and
    /// the rest of the body is requested later.
    func pause() {
        state.isPaused = true
        state.waitsForUser = true
        guard let task = state.task else { return }
        #if canImport(FoundationNetworking)
        state.task = nil
        session.control.async { task.cancel() }
        #else
        session.control.async { task.suspend() }
        #endif
    }

    /// Continues after a pause.
    func unpause() {
        lock.withLock {
            guard state.phase == .running, state.isPaused, let response = state.response else { return }
            state.isPaused = false
            state.waitsForUser = false
            #if canImport(FoundationNetworking)
            do {
                guard let request = try sink.requestForRest(after: response) else { return }
                resend(request)
            } catch {
                fail(error)
            }
            #else
            if let task = state.task { session.control.async { task.resume() } }
            #endif
        }
    }
}
