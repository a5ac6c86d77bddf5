import Deferred

/// Stores work until the program runs or releases it.
final class QueueingDispatcher: Dispatcher, @unchecked Sendable {
    private var work: [@Sendable () -> Void] = []

    func dispatch(_ work: @escaping @Sendable () -> Void) { self.work.append(work) }

    func runNext() -> Bool {
        guard let next = take() else { return false }
        next()
        return true
    }

    func dropNext() -> Bool { take() != nil }

    /// Not inlined: the optimiser would release the work while the array is being changed.
    @inline(never)
    private func take() -> (@Sendable () -> Void)? { work.isEmpty ? nil : work.removeFirst() }
}
