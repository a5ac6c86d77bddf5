import CInterleaving
import Deferred
import Multicast

/// A value that is changed in two steps, and not copied before.
final class Halves: @unchecked Sendable {
    var first = 0
    var second = 0
}

func defineMulticastScenarios() {
    // Multicast
    scenario("readers-writer-write-read-read") {
        let v = SynchronizedValue([0, 0])
        let log = Log()
        return Program(
            {
                v.write {
                    $0[0] += 1; il_point(nil, IL_YIELD); $0[1] += 1
                }
            },
            {
                log.add(
                    v.read { a in
                        let x = a[0]; il_point(nil, IL_YIELD); return x == a[1]
                    } ? "ok" : "torn")
            },
            {
                v.write {
                    $0[0] += 1; il_point(nil, IL_YIELD); $0[1] += 1
                }
            }
        ) {
            all(expect(log.text == "ok", log.text), expect(v.read { $0 == [2, 2] }, "lost"))
        }
    }
    scenario("readers-writer-read-read-write") {
        let v = SynchronizedValue(Halves())
        let log = Log()
        func look() {
            log.add(
                v.read { a in
                    let x = a.first; il_point(nil, IL_YIELD); return x == a.second
                } ? "ok" : "torn")
        }
        return Program(
            {
                look(); look()
            }, { look() },
            {
                v.write {
                    $0.first += 1; il_point(nil, IL_YIELD); $0.second += 1
                }
            }
        ) {
            all(expect(log.text == "ok ok ok", log.text))
        }
    }
    scenario("multicast-add-remove-notify") {
        final class L: Sendable {
            let log: Log; let t: String; init(_ l: Log, _ t: String) { log = l; self.t = t }
        }
        let m = MulticastDelegate<L>(), log = Log()
        let a = L(log, "a"), b = L(log, "b")
        m.add(a, on: Inline())
        return Program(
            {
                m.remove(a); log.add("removed")
            }, { m.add(b, on: Inline()) }, { m.notify { $0.log.add($0.t) } }
        ) {
            hold(a, b)
            let before = log.entries.count
            m.notify { $0.log.add($0.t) }
            return all(
                expect(log.entries.suffix(from: before) == ["b"], log.text),
                expect(log.count("a") <= 1, log.text))
        }
    }
    scenario("channel-of-two-multicast") {
        final class L: Sendable {
            let log: Log; let t: String; init(_ l: Log, _ t: String) { log = l; self.t = t }
        }
        let m = MulticastDelegate<L>(), log = Log()
        let a = L(log, "a"), b = Box(L(log, "b"))
        m.add(a, on: Inline())
        m.add(b.value!, on: Inline())
        return Program(
            { m.notify { $0.log.add($0.t) } }, { _ = b.take() },
            {
                m.remove(a); m.add(a, on: Inline())
            }
        ) {
            let before = log.entries.count
            m.notify { $0.log.add($0.t) }
            return all(
                expect(log.entries.suffix(from: before) == ["a"], log.text),
                expect(before <= 3, log.text))
        }
    }
    scenario("readers-writer-write-write-read") {
        let v = SynchronizedValue([0, 0])
        let log = Log()
        return Program(
            {
                v.write {
                    $0[0] += 1; il_point(nil, IL_YIELD); $0[1] += 1
                }; log.add(v.read { $0[0] == $0[1] } ? "ok" : "torn")
            },
            {
                v.write {
                    $0[0] += 1; il_point(nil, IL_YIELD); $0[1] += 1
                }
            },
            {
                log.add(
                    v.read { a in
                        let x = a[0]; il_point(nil, IL_YIELD); return x == a[1]
                    } ? "ok" : "torn");
                v.write {
                    $0[0] += 1; $0[1] += 1
                }
            }
        ) {
            all(expect(log.text == "ok ok", log.text), expect(v.read { $0 == [3, 3] }, "lost"))
        }
    }
}
