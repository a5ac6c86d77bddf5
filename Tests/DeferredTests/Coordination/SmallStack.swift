import Deferred
import Foundation

/// Runs `body` on a thread with a stack of 512 KiB.
func onSmallStack(_ body: @escaping @Sendable () -> Void) async throws {
    let done = Deferred<Void>()
    let thread = Thread {
        body()
        done.resolve()
    }
    thread.stackSize = 512 << 10
    thread.start()
    try await done.value
}
