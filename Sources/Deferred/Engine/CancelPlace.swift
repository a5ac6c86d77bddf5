/// The place where a cancel takes effect, as a search from its root has found it. It is under the lock in which it was found;
/// what takes effect there does so in that critical section, and unlocks.
enum CancelPlace {
    /// There is none: the request has ended, or its root is settled. Nothing is locked.
    case none
    /// This thread is about to run the link's step with the error of an earlier cancel.
    case failingHere(Link, UInt)
    /// The link waits on a dispatcher, or for what is in its `deinit`: it is about to receive an outcome.
    case aboutToReceive(Link, UInt)
    /// A step runs, or another thread is about to run it with the error of an earlier cancel; or the link keeps its
    /// outcome, which is on its way.
    case inTransition(Link, UInt)
    /// A pending source.
    case source(Link, UInt)
    /// The link waits, and what it waits for, which is locked, is not to be cancelled; see ``Link/Consumption``.
    case below(Link, upstream: Link, UInt, Link.Consumption, steps: Int)
}

extension CancelRequest {
    /// How often a search may come back to its root before it takes the chain for a cycle: the chain may also have changed
    /// meanwhile.
    private static let greatestReturns = 8

    /// Searches up from the root, link by link, each under its own lock. Changes nothing but a flag of links whose steps may
    /// answer the cancel: ``Link/Flags/isPassed``.
    @inline(__always)
    func findPlace(on thread: UInt) -> CancelPlace {
        var link = root
        /// How many links it has left upwards, and how often it has come back to its root.
        var (steps, returns) = (0, 0)
        /// Whether the root has to be notified if the request is answered.
        var needsAnswer = false
        /// The word of `link`, if it is already locked.
        var locked: UInt?
        while true {
            let word = locked.take() ?? link.lock()
            // The drain loop ends the protection of a root that it notifies under this lock.
            if link === root {
                if !isOpen {
                    link.unlock(word)
                    return .none
                }
                needsAnswer = link.payload.needsAnswer
            }
            if needsAnswer, link.phase == .waiting || link.phase == .dispatched || link.phase == .source {
                link.set(Link.Flags.isPassed)
            }
            switch link.phase {
            case .failing where link.activeThread == thread: return .failingHere(link, word)
            case .settled, .bypassed:
                // The root; any other link was found pending in the critical section that locked it.
                link.unlock(word)
                return .none
            case .dispatched where link.keepsOutcome && link !== root: return .inTransition(link, word)
            case .dispatched: return .aboutToReceive(link, word)
            case .running, .failing: return .inTransition(link, word)
            case .source: return .source(link, word)
            case .waiting:
                guard let upstream = link.upstream.retained() else { return .aboutToReceive(link, word) }
                link.unlock(word)
                // Another thread has closed a cycle and is about to break it. Rather than follow the cycle, this cancel
                // detaches its root. (That is in the cycle: any other link that it comes to a second time has two
                // consumers.)
                if upstream === root { returns += 1 }
                let isCyclic = returns > Self.greatestReturns
                if isCyclic && link !== root {
                    link = root
                    continue
                }
                let upstreamWord = upstream.lock()
                let consumption = upstream.consumption(by: link, upstreamWord, always: isCyclic)
                guard consumption == .only else {
                    return .below(link, upstream: upstream, upstreamWord, consumption, steps: steps)
                }
                locked = upstreamWord
                link = upstream
                steps += 1
            }
        }
    }
}
