import Deferred
import Dispatch
import Foundation
import Synchronization
import TestSupport

enum Torture {
    /// Whether tests may record. Recordings copy arrays under a lock and read the copies outside it, and in optimised
    /// code ThreadSanitizer does not see the check of uniqueness that lets the original change in place.
    static let records = !Extent.isSanitized || Extent.isDebug
}

/// Threads that act at the same time, in many rounds.
///
/// The outcome is fixed, the schedule is not: each thread of a round starts after a random wait, derived from
/// a seed, so that the rounds try many orders.
struct Race<State: Sendable> {
    private let rounds: Int
    private let setUp: () -> State
    private var bodies: [@Sendable (State) -> Void] = []

    init(rounds: Int = Extent.rounds, _ setUp: @escaping () -> State) {
        self.rounds = rounds
        self.setUp = setUp
    }

    /// The actions that run at once, each on a thread of its own, with the state from `setUp`.
    func racing(_ bodies: @Sendable (State) -> Void...) -> Race {
        var race = self
        race.bodies = bodies
        return race
    }

    /// Runs the rounds, with `check` after each, when all threads have returned.
    func check(_ check: (State) -> Void) {
        let crew = Crew<State>(bodies)
        // Threads that lose a race cause diagnostics; a test that checks them sets a handler of its own.
        DeferredDiagnostics.withHandler({ _ in }) {
            for round in 0..<rounds {
                let state = setUp()
                crew.run(state, round)
                check(state)
            }
        }
        crew.dismiss()
    }
}

/// The threads of one test. In a round each is woken, waits a little for the others, and does its part.
///
/// Sound as `@unchecked Sendable`: `state` and `number` are written by the leader while the others wait for
/// their signal, and read by them between that and the signal that they return.
private final class Crew<State: Sendable>: @unchecked Sendable {
    private let bodies: [@Sendable (State) -> Void]
    private let starts: [DispatchSemaphore]
    private let end = DispatchSemaphore(value: 0)
    private let ready = Atomic<Int>(0)
    private var state: State?
    private var number = 0

    init(_ bodies: [@Sendable (State) -> Void]) {
        self.bodies = bodies
        starts = bodies.map { _ in DispatchSemaphore(value: 0) }
        for index in 1..<bodies.count {
            let thread = Thread { [self] in work(index) }
            thread.start()
        }
    }

    func run(_ state: State, _ number: Int) {
        self.state = state
        self.number = number
        ready.store(0, ordering: .relaxed)
        for start in starts.dropFirst() { start.signal() }
        take(0)
        for _ in 1..<bodies.count { end.wait() }
        self.state = nil
    }

    func dismiss() {
        for start in starts.dropFirst() { start.signal() }
    }

    private func work(_ index: Int) {
        while true {
            starts[index].wait()
            guard state != nil else { return }
            take(index)
            end.signal()
        }
    }

    private func take(_ index: Int) {
        guard let state else { preconditionFailure("a round has a state") }
        ready.add(1, ordering: .relaxed)
        var random = SplitMix64(UInt64(number) &* 31 &+ UInt64(index))
        // Not endlessly: there may be fewer processors than threads.
        for _ in 0..<1_000 where ready.load(ordering: .relaxed) < bodies.count {}
        for _ in 0..<(random.next() % 64) { _ = ready.load(ordering: .relaxed) }
        DeferredDiagnostics.withHandler({ _ in }) { bodies[index](state) }
    }
}

/// A number that threads increment.
final class AtomicCounter: Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .acquiring) }
    @discardableResult func add() -> Int { number.add(1, ordering: .acquiringAndReleasing).newValue }
}

/// A reference that a thread can take out and release.
final class Slot<Content: Sendable>: Sendable {
    private let content: SpinLocked<Content?>

    init(_ content: Content?) { self.content = SpinLocked(content) }

    func take() -> Content? { content.withLock { $0.take() } }
    func put(_ new: Content?) {
        let old = content.withLock { content in
            let old = content
            content = new
            return old
        }
        _ = consume old
    }
    var now: Content? { content.withLock { $0 } }
    func drop() { _ = take() }
}
