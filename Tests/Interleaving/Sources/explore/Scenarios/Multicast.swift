import CInterleaving
import Deferred
import DeferredTesting
import Interleaving
import Multicast

/// Channels, delegates and pairs of closures.
func defineMulticastScenarios() {
    scenario("channel-listen-retained-post") {
        let channel = BroadcastChannel<Int>(), log = Log()
        let a = Delegate(log, "a")
        channel.post(1, retained: true)
        return Program(
            { channel.listen(a) { log.add("a\($0)") } }, { channel.post(2, retained: true) }
        ) {
            hold(a)
            return all(
                expect(log.entries.last == "a2", log.text),
                expect(log.count("a1") <= 1 && log.count("a2") == 1, log.text))
        }
    }
    scenario("closures-add-take-take") {
        let closures = MulticastClosures<Int, E1>(), log = Log()
        let a = Delegate(log, "a"), b = Delegate(log, "b")
        let firsts = Log()
        func add(_ owner: Delegate) {
            let isFirst = closures.add(
                owner, success: { log.add("\(owner.name)\($0)") }, failure: { _ in log.add("!") })
            if isFirst { firsts.add(owner.name) }
        }
        return Program(
            { add(a) }, { add(b) }, { closures.complete(with: .success(1)) }
        ) {
            closures.complete(with: .success(2))
            hold(a, b)
            let calls = log.entries.sorted()
            return all(
                expect(calls.count == 2 && calls[0].hasPrefix("a") && calls[1].hasPrefix("b"), log.text),
                expect(
                    firsts.entries.count == (log.count("a1") + log.count("b1") == 1 ? 2 : 1), firsts.text))
        }
    }
    scenario("closures-take-remove") {
        let closures = MulticastClosures<Int, E1>(), log = Log()
        let a = Delegate(log, "a")
        closures.add(a, success: { log.add("a\($0)") }, failure: { _ in log.add("!") })
        return Program(
            { closures.complete(with: .success(1)) }, { closures.complete(with: .success(2)) },
            { closures.remove(a) }
        ) {
            hold(a)
            closures.complete(with: .success(3))
            return expect(log.entries.count <= 1 && !log.has("a3"), log.text)
        }
    }
}
