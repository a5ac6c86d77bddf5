import Deferred
import Testing

@Suite struct Smoke {
    @Test func basics() async throws {
        let d = Deferred<Int>()
        let log = Log()
        d.then { $0 + 1 }.then { log.add("v \($0)") }
        let e = d.then { _ in throw E() }
        e.fail { log.add("e \($0)") }
        #expect(d.resolve(1))
        #expect(log.all == ["v 2", "e E()"])
        let s: Deferred<String> = d.then { n in Deferred.resolved(String(n)) }
        #expect(try s.currentResult?.get() == "1")
        let inner = Deferred<String>()
        let o = d.then { _ in inner }
        #expect(o.currentResult == nil)
        print(o)
        inner.resolve("x")
        #expect(try await o.value == "x")
        let (a, b) = (Deferred<Int>(), Deferred<String>())
        let g = gather(a, b).then { a, b in "\(a)\(b)" }
        let l = DeferredList([a]).values()
        a.resolve(1); b.resolve("z")
        #expect(try g.currentResult?.get() == "1z")
        #expect(try l.currentResult?.get() == [1])
        var dropped: Deferred<Int>? = Deferred<Int>()
        let k = dropped!.then { $0 }
        dropped = nil
        k.fail {
            log.add("\($0)"); return 0
        }.then { log.add("\($0)") }
        print(log.all)
    }
    @Test func deep() {
        let d = Deferred<Int>()
        var c = d
        for _ in 0..<1_000_000 { c = c.then { $0 + 1 } }
        d.resolve(0)
        #expect(try! c.currentResult!.get() == 1_000_000)
        let s = Deferred<Int>()
        var n = s
        for _ in 0..<1_000_000 { let m = n; n = Deferred.resolved(1).then { _ in m } }
        s.resolve(5)
        #expect(try! n.currentResult!.get() == 5)
    }
}
struct E: Error {}
final class Log: @unchecked Sendable { var all: [String] = []; func add(_ s: String) { all.append(s) } }
@Suite struct SmokeOverloads {
    @Test func resolves() {
        let a = Deferred<Int>()
        let w: Deferred<Int> = a.fail { _ in throw E() }
        let n = a.fail { _ in Deferred.resolved(4) }
        a.fail { print($0) }
        let n2 = a.fail { e in
            print(e); return Deferred.resolved(4)
        }
        let v: Deferred<Int> = a.fail { e in
            print(e); return 4
        }
        let t = a.fail(E.self) { _ in 5 }
        let t2 = a.fail(E.self) { _ in .resolved(5) }
        let t3 = a.fail(E.self) { _ in throw E() }
        a.cancel()
        _ = (w, n, n2, v, t, t2, t3)
        let s = a.shielded(); s.cancel()
    }
}
final class Obj: Sendable { let n: Int; init(_ n: Int) { self.n = n } }
struct Big: Sendable { let a: Obj; let b: Int64; let c: Obj?; let d: Int64 }
struct Mid: Sendable { let a: Obj; let b: Int64 }
@Suite struct SmokeContent {
    @Test func kinds() async throws {
        let d = Deferred<Big>()
        let e = d.then { $0 }
        d.resolve(Big(a: Obj(1), b: 2, c: Obj(3), d: 4))
        #expect(try e.currentResult!.get().c!.n == 3)
        let m = Deferred<Mid>()
        let f = m.then { $0 }
        m.resolve(Mid(a: Obj(1), b: 2))
        #expect(try f.currentResult!.get().a.n == 1)
        let o = Deferred<Obj>(); let p = o.then { $0 }; o.resolve(Obj(9));
        #expect(try p.currentResult!.get().n == 9)
        let s = Deferred<String>(); let t = s.then { $0 + "!" }; s.resolve("hello there you all");
        #expect(try t.currentResult!.get() == "hello there you all!")
        let (x, r) = Deferred<Big>.withResolver()
        async let v = x.value
        r.complete(with: .success(Big(a: Obj(1), b: 2, c: Obj(3), d: 4)))
        #expect(try await v.c!.n == 3)
    }
}
