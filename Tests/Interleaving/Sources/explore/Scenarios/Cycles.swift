import CInterleaving
import Deferred

func defineCyclesScenarios() {
    // Cycles: L5
    scenario("cycle-nested") {
        let s1 = D(), s2 = D()
        let b = Box<D>(nil), a = Box<D>(nil)
        a.value = s1.then { _ -> D in b.value! }
        b.value = s2.then { _ -> D in a.value! }
        return Program({ s1.resolve(1) }, { s2.resolve(2) }) {
            let r = show(a.take()!.currentResult), q = show(b.take()!.currentResult)
            return all(expect(r == "cycle" && q == "cycle", r + q), noReports())
        }
    }
    scenario("cycle-nested3") {
        let s = [D(), D(), D()]
        let b = [Box<D>(nil), Box<D>(nil), Box<D>(nil)]
        for i in 0..<3 { b[i].value = s[i].then { _ -> D in b[(i + 1) % 3].value! } }
        return Program({ s[0].resolve(1) }, { s[1].resolve(2) }, { s[2].resolve(2) }) {
            let r = b.map { show($0.take()!.currentResult) }
            return all(expect(r == ["cycle", "cycle", "cycle"], "\(r)"), noReports())
        }
    }
    scenario("cycle-follow") {
        let a = D(), b = D()
        return Program({ a.follow(b) }, { b.follow(a) }) {
            let r = show(a.currentResult), q = show(b.currentResult)
            return all(expect(r == "cycle" && q == "cycle", r + " " + q), noReports())
        }
    }
    scenario("cycle-follow-nested") {
        let a = D(), s = D()
        let box = Box<D>(nil)
        box.value = s.then { _ -> D in a }
        return Program({ a.follow(box.value!) }, { s.resolve(1) }) {
            let r = show(a.currentResult), q = show(box.take()!.currentResult)
            return all(expect(r == "cycle" && q == "cycle", r + " " + q), noReports())
        }
    }
    scenario("cycle-cancel") {
        let s1 = D(), s2 = D()
        let b = Box<D>(nil), a = Box<D>(nil)
        a.value = s1.then { _ -> D in b.value! }
        b.value = s2.then { _ -> D in a.value! }
        let c = a.value!
        return Program({ s1.resolve(1) }, { s2.resolve(2) }, { c.cancel() }) {
            let r = show(a.take()!.currentResult), q = show(b.take()!.currentResult)
            return all(
                expect(
                    ["cycle", "cancelled"].contains(r) && ["cycle", "cancelled"].contains(q), r + " " + q),
                noReports())
        }
    }
    scenario("cycle-list") {
        let s1 = D(), s2 = D()
        let a = Box<Deferred<Int>>(nil)
        let x = D()
        a.value = s1.then { _ -> D in DeferredList([x, s2]).results().map { _ in 1 } }
        x.follow(a.value!)
        return Program({ s1.resolve(1) }, { s2.resolve(2) }) {
            let r = show(x.currentResult), q = show(a.take()!.currentResult)
            return all(expect(r != "pending" && q != "pending", r + " " + q))
        }
    }
    scenario("cycle-cancel-inside") {
        let s1 = D(), s2 = D()
        let b = Box<D>(nil), a = Box<D>(nil)
        a.value = s1.then { _ -> D in b.value! }
        b.value = s2.then { _ -> D in a.value! }
        let c = a.value!, e = b.value!
        return Program(
            { s1.resolve(1) },
            {
                s2.resolve(2); e.cancel()
            }, { c.cancel() }
        ) {
            let r = show(a.take()!.currentResult), q = show(b.take()!.currentResult)
            return all(
                expect(
                    ["cycle", "cancelled"].contains(r) && ["cycle", "cancelled"].contains(q), r + " " + q),
                noReports())
        }
    }
}
