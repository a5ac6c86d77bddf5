import CInterleaving
import Deferred

/// C5: a `cancel()` is never lost, whatever it races with.
func defineLateCancelsScenarios() {
    // A source that follows another one.
    scenario("late-cancel-follow") {
        let (d, resolver) = D.withResolver(), other = D()
        resolver.follow(other)
        return cancelled(d, { other.resolve(1) })
    }
    scenario("late-cancel-follow-twice") {
        let a = D(), b = D(), c = D()
        b.follow(a)
        c.follow(b)
        return cancelled(c, { a.resolve(1) })
    }
    scenario("late-cancel-canceller-follow") {
        let d = D(canceller: { _ in }), other = D()
        other.follow(d)
        return cancelled(other, { d.cancel() }, { d.resolve(1) })
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
    // The callback runs two links above what is cancelled.
    scenario("below-cancel-deep-3") {
        let d = D(), inner = D(), inner2 = D()
        let l = d.then { _ in inner }
        let c1 = l.map { $0 }
        let c2 = c1.then { _ in inner2 }
        return Program({ d.resolve(1) }, { inner.resolve(2) }, { c2.cancel() }) {
            hold(inner2, l, c1)
            let r = show(c2.currentResult)
            return expect(r == "cancelled", r)
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
