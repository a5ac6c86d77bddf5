import CInterleaving
import Deferred

func defineWaitingScenarios() {
    scenario("wait-own-callback") {
        let s = D(), log = Log()
        let c = Box<D>(nil)
        c.value = s.map { v -> Int in
            wait(for: c.value!, log)
            return v
        }
        return Program({ s.resolve(0) }, { c.value!.cancel() }) {
            let t = log.text
            _ = c.take()
            return all(expect(["!wouldDeadlock", "", "!cancelled"].contains(t), t), noReports())
        }
    }
    // wait() asks whether it would wait for itself, while other threads move the chain.
    scenario("wait-search-moving") {
        let s = D(), d = D(), log = Log(), inner = D()
        let c = d.then { _ in inner }.map { v -> Int in v + 1 }
        s.done { _ in wait(for: c, log) }
        return Program({ s.resolve(0) }, { d.resolve(1) }, { inner.resolve(2) }) {
            all(expect(log.text == "3", log.text), noReports())
        }
    }
    // What one of two may complete, of which one needs the waiting thread: no deadlock, at whatever moment the other
    // one settles.
    scenario("wait-list-decided-by-value") {
        waitInCallback({ DeferredList([$0, $1]).first().map { $0.value } })
    }
    scenario("wait-list-decided-by-failure") {
        waitInCallback({ DeferredList([$0, $1]).values().map { $0.count } }, { $0.reject(E1()) }, "!E1")
    }
    scenario("wait-list-with-limit-decided") {
        waitInCallback({ own, other in
            let inputs = [own, other]
            return DeferredList(0..<2, limit: 2) { inputs[$0] }.first().map { $0.value }
        })
    }
    scenario("wait-lists-decided") {
        waitInCallback({ own, other in
            let inner = DeferredList([other.map { $0 }, own], cancelsRemaining: false).first().map {
                $0.value
            }
            return DeferredList([own, inner]).first().map { $0.value }
        })
    }
    scenario("wait-list-of-settled") {
        // The other input has settled, and its observer waits for a pause to end.
        let s = D(), y = D(), log = Log()
        let own = Box<D>(nil)
        own.value = s.map { v -> Int in
            wait(for: DeferredList([own.value!, y]).first().map { $0.value }, log)
            return v
        }
        y.pause()
        y.resolve(2)
        return Program({ s.resolve(0) }, { y.unpause() }) {
            _ = own.take()
            return all(expect(log.text == "2", log.text), noReports())
        }
    }
    scenario("wait-following-completed") {
        // The other thread has the only resolver, which follows the callback's own result, and completes explicitly.
        let s = D(), log = Log()
        let own = Box<D>(nil), resolver = Box<Resolver<Int>>(nil)
        let following = D { resolver.value = $0 }
        own.value = s.map { v -> Int in
            wait(for: following, log)
            return v
        }
        resolver.value!.follow(own.value!)
        return Program({ s.resolve(0) }, { resolver.take()!.resolve(2) }) {
            _ = own.take()
            return all(expect(log.text == "2", log.text), noReports())
        }
    }
    scenario("wait-shielded-list-decided") {
        waitInCallback({ own, other in DeferredList([own, other]).first().map { $0.value }.shielded() })
    }
    scenario("wait-list-refused") {
        // Both inputs need the waiting thread, whatever other threads attach and detach.
        let s = D(), log = Log()
        let own = Box<D>(nil)
        own.value = s.map { v -> Int in
            wait(for: DeferredList([own.value!, own.value!.map { $0 }]).first().map { $0.value }, log)
            return v
        }
        let attached = own.value!
        attached.done { _ in }
        return Program({ s.resolve(0) }, { attached.map { $0 }.cancel() }) {
            _ = own.take()
            return all(expect(log.text == "!wouldDeadlock", log.text), noReports())
        }
    }
}

/// A callback waits for what `make` returns for its own result and another Deferred, which another thread completes.
private func waitInCallback(
    _ make: @escaping @Sendable (_ own: D, _ other: D) -> D,
    _ complete: @escaping @Sendable (D) -> Void = { $0.resolve(2) }, _ expected: String = "2"
) -> Program {
    let s = D(), other = D(), log = Log()
    let own = Box<D>(nil)
    own.value = s.map { v -> Int in
        wait(for: make(own.value!, other), log)
        return v
    }
    return Program({ s.resolve(0) }, { complete(other) }) {
        _ = own.take()
        return all(expect(log.text == expected, log.text), noReports())
    }
}
