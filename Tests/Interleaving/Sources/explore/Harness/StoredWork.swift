import Deferred
import Interleaving

/// Puts work into a box.
struct Stored: Dispatcher {
    let box: WorkBox

    func dispatch(_ work: @escaping @Sendable () -> Void) { box.put(work) }
}

/// Stored work that a thread of the run takes, to run it or to release it.
final class WorkBox: @unchecked Sendable {
    private var work: [@Sendable () -> Void] = []
    private let cell = Cell()

    func put(_ newWork: @escaping @Sendable () -> Void) {
        cell.write()
        work.append(newWork)
    }

    /// Not inlined: the optimiser would release the work while the array is being changed.
    @inline(never)
    func take() -> (@Sendable () -> Void)? {
        cell.write()
        return work.isEmpty ? nil : work.removeFirst()
    }

    func runAll() { while let work = take() { work() } }
    func dropAll() { while let work = take() { _ = work } }
}

/// Runs delayed work when a thread of the run calls `expire`.
final class Delays: DelayedDispatcher, @unchecked Sendable {
    final class Work: DelayedWork, @unchecked Sendable {
        private var work: (@Sendable () -> Void)?
        private let cell = Cell()

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }

        var isPending: Bool { work != nil }

        @inline(never)
        func take() -> (@Sendable () -> Void)? {
            cell.write()
            let taken = work
            work = nil
            return taken
        }

        func cancel() { _ = take() }
    }

    private var all: [Work] = []
    private let cell = Cell()

    func dispatch(_ work: @escaping @Sendable () -> Void) { work() }

    func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        let work = Work(work)
        cell.write()
        all.append(work)
        return work
    }

    /// Whether a timer has neither run nor been cancelled.
    var hasPending: Bool { all.contains { $0.isPending } }

    /// Runs what is pending.
    func expire() {
        cell.write()
        for work in all { work.take()?() }
    }
}
