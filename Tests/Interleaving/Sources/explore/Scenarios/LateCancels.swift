import CInterleaving
import Deferred

/// C5: a `cancel()` is never lost, whatever it races with.
func defineLateCancelsScenarios() {
    scenario("late-cancel-chain") {
        let d = D()
        return cancelled(d.map { $0 }.map { $0 }, { d.resolve(1) })
    }
    scenario("late-cancel-nested") {
        let d = D(), inner = D()
        return cancelled(d.then { _ in inner }, { d.resolve(1) }, { inner.resolve(2) })
    }
    scenario("late-cancel-beside-another") {
        let d = D()
        let other = d.map { $0 }
        return cancelled(d, { other.cancel() }, { d.resolve(1) })
    }
    scenario("late-cancel-list") {
        let x = D(), y = D()
        return cancelled(DeferredList([x, y]).values().map { $0.count }, { x.resolve(1) }, { y.resolve(2) })
    }
    scenario("late-cancel-list-first") {
        let x = D(), y = D()
        return cancelled(DeferredList([x, y]).first().map { $0.value }, { x.resolve(1) }, { y.resolve(2) })
    }
    scenario("late-cancel-paused") {
        let d = D()
        d.pause()
        return cancelled(d, { d.resolve(1) }, { d.unpause() })
    }
    // A source that follows another one.
    scenario("late-cancel-follow") {
        let (d, resolver) = D.withResolver(), other = D()
        resolver.follow(other)
        return cancelled(d, { other.resolve(1) })
    }
    scenario("late-cancel-follow-shared") {
        let d = D(), other = D()
        d.follow(other)
        other.done { _ in }
        return cancelled(d, { other.resolve(1) })
    }
    scenario("late-cancel-follow-twice") {
        let a = D(), b = D(), c = D()
        b.follow(a)
        c.follow(b)
        return cancelled(c, { a.resolve(1) })
    }
    scenario("late-cancel-follow-now") {
        let d = D(), other = D()
        return cancelled(d, { d.follow(other) }, { other.resolve(1) })
    }
    scenario("late-cancel-shielded") {
        let d = D()
        return cancelled(d.shielded(), { d.resolve(1) })
    }
    // A canceller that runs meanwhile, because of another cancel.
    scenario("late-cancel-canceller") {
        let d = D(canceller: { _ in })
        return cancelled(d, { d.cancel() }, { d.resolve(1) })
    }
    scenario("late-cancel-canceller-follow") {
        let d = D(canceller: { _ in }), other = D()
        other.follow(d)
        return cancelled(other, { d.cancel() }, { d.resolve(1) })
    }

    // C1: an outcome that the cancel itself causes reaches what was cancelled, also if it was cancelled twice.
    scenario("canceller-resolves-cancel-cancel") {
        let d = D(canceller: { $0.resolve(7) })
        let c = d.map { $0 }
        return Program({ d.cancel() }, { c.cancel() }) {
            // The second cancel may find `d` resolved and `c` not dequeued yet.
            let r = show(c.currentResult)
            return all(expect(r == "7" || r == "cancelled", r), noReports())
        }
    }
    scenario("canceller-resolves-later-cancel") {
        // The second cancel comes while the canceller runs, which resolves after that.
        let reached = Signal(), go = Signal()
        let d = D(canceller: { own in
            reached.send()
            go.wait()
            own.resolve(7)
        })
        let c = d.map { $0 }
        return Program(
            { d.cancel() },
            {
                reached.wait()
                c.cancel()
                go.send()
            }
        ) {
            all(expect(show(c.currentResult) == "7", show(c.currentResult)), noReports())
        }
    }
    scenario("canceller-resolves-later-follow") {
        let reached = Signal(), go = Signal()
        let d = D(canceller: { own in
            reached.send()
            go.wait()
            own.resolve(7)
        })
        let other = D()
        other.follow(d)
        let c = other.map { $0 }
        return Program(
            { d.cancel() },
            {
                reached.wait()
                c.cancel()
                go.send()
            }
        ) {
            all(expect(show(c.currentResult) == "7", show(c.currentResult)), noReports())
        }
    }
    scenario("canceller-overtaken-after-cancel") {
        // The second cancel comes while the canceller runs, and then somebody else resolves.
        let reached = Signal(), go = Signal(), log = Log()
        let d = D(canceller: { _ in
            reached.send()
            go.wait()
        })
        let c = d.map { v -> Int in
            log.add("ran")
            return v
        }
        return Program(
            { d.cancel() },
            {
                reached.wait()
                c.cancel()
                d.resolve(1)
                go.send()
            }
        ) {
            let r = show(c.currentResult)
            return all(expect(r == "cancelled" && !log.has("ran"), r + log.text), noReports())
        }
    }
}

/// A thread cancels what is attached to `deferred`, while others complete that. The callback returns a pending Deferred,
/// which a cancel that comes after the callback has to reach.
private func cancelled(
    _ deferred: D, _ first: @escaping @Sendable () -> Void, _ second: (@Sendable () -> Void)? = nil
) -> Program {
    let inner = D()
    let c = deferred.then { _ in inner }
    let cancel: @Sendable () -> Void = { c.cancel() }
    let check: @Sendable () -> String? = {
        hold(inner)
        return expect(show(c.currentResult) == "cancelled", show(c.currentResult))
    }
    guard let second else { return Program(cancel, first, check: check) }
    return Program(cancel, first, second, check: check)
}
