import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite struct ListsTests: Article {
    let eventLog = SharedLog<String>()

    @Test("Lists: all, the good ones, and the quickest")
    func three() throws {
        let (first, second, third) = (Deferred<Int>(), Deferred<Int>(), Deferred<Int>())
        let list = DeferredList([first, second, third])
        let all = list.results()  // every outcome, success or failure, in input order
        let good = list.values()  // every value, or the first error
        let quickest = list.first()  // the first value, and its index
        second.resolve(2)
        #expect(try successResult(of: quickest) == (1, 2))
        third.reject(Refused())
        #expect(try failureResult(of: good) is Refused)
        try expectNoResult(all)
        first.resolve(1)
        #expect(try successResult(of: all).count == 3)
        let empty = DeferredList([Deferred<Int>]())
        #expect(try successResult(of: empty.results()).isEmpty)
        #expect(try successResult(of: empty.values()) == [])
        #expect(try failureResult(of: empty.first()) as? DeferredError == .empty)
    }

    @Test("Lists: as they come")
    func completed() async {
        let list = DeferredList([Deferred.resolved("a"), Deferred.resolved("b")])
        for await (index, result) in list.completed {
            print("\(index): \(result)")
        }
        #expect(eventLog.all.count == 2)
        #expect(eventLog.all.first?.hasPrefix("0: success") == true)
    }

    @Test("Lists: the first three values, in a loop")
    func firstThreeInLoop() async throws {
        let last = Deferred<String>()
        let list = DeferredList([.resolved("a"), .rejected(Refused()), .resolved("b"), .resolved("c"), last])
        var pages: [String] = []
        for await (_, result) in list.completed {
            if let page = try? result.get() { pages.append(page) }
            if pages.count == 3 { break }
        }
        list.cancel()  // the others
        #expect(pages == ["a", "b", "c"])
        #expect(try failureResult(of: last) is CancellationError)
    }

    @Test("Lists: the first three values, in a chain")
    func firstThreeInChain() throws {
        func firstThree(of inputs: [Deferred<String>]) -> Deferred<[String]> {
            let found = DeferredQueue<String>()
            for input in inputs { input.done { try found.put($0) }.fail { _ in } }
            return DeferredList((0..<3).map { _ in found.get() }, consumeErrors: true).values()
        }
        try expectNoUnhandledFailures {
            let inputs = (0..<5).map { _ in Deferred<String>() }
            let three = firstThree(of: inputs)
            three.finally { _ in DeferredList(inputs).cancel() }  // the others
            inputs[4].resolve("e")
            inputs[0].reject(Refused())
            inputs[2].resolve("c")
            try expectNoResult(three)
            inputs[1].resolve("b")
            #expect(try successResult(of: three) == ["e", "c", "b"])
            #expect(try failureResult(of: inputs[3]) is CancellationError)
            let tooFew = firstThree(of: [.resolved("a"), .rejected(Refused()), .resolved("c")])
            #expect(try failureResult(of: tooFew) as? DeferredError == .abandoned)
        }
    }

    @Test("Lists: the next input of a limited list starts after the callbacks of the one before")
    func nextAfterCallbacks() {
        let (eventLog, first) = (eventLog, Deferred<Int>())
        let list = DeferredList(0..<2, limit: 1) { number in
            eventLog.add("starts \(number)")
            let work = number == 0 ? first : .never()
            work.done { _ in eventLog.add("done \(number)") }
            return work
        }
        let results = list.results()
        first.resolve(0)
        #expect(eventLog.all == ["starts 0", "done 0", "starts 1"])
        results.cancel()
    }

    @Test("Lists: different types")
    func gathering() {
        let (name, age) = (Deferred.resolved("Ann"), Deferred.resolved(41))
        gather(name, age).done { name, age in print("\(name) is \(age)") }
        #expect(eventLog.all == ["Ann is 41"])
    }

    @Test("Lists: which input failed")
    func whichFailed() {
        struct Missing: Error, CustomStringConvertible {
            let description: String
            init(_ name: String, _ error: any Error) { description = "\(name): \(error)" }
        }
        let addresses = ["/a", "/b"]
        @Sendable func fetchPage(_ address: String) -> Deferred<String> {
            address == "/b" ? .rejected(Refused()) : .resolved("page")
        }
        let (name, age) = (Deferred.resolved("Ann"), Deferred<Int>.rejected(Refused()))
        DeferredList(addresses.map(fetchPage), wrapErrors: true).values()
            .fail(DeferredInputFailure.self) { print("\(addresses[$0.index]): \($0.error)") }
        gather(name.mapError { Missing("name", $0) }, age.mapError { Missing("age", $0) })
            .fail { print("\($0)") }
        #expect(eventLog.all == ["/b: refused", "age: refused"])
    }

    @Test("Lists: the first of several, and the others cancelled")
    func race() {
        let (print, addresses): (@Sendable (String) -> Void, [String]) = (eventLog.add, ["/a", "/b"])
        let a = Deferred<String>(canceller: { _ in print("a cancelled") })
        let b = Deferred<String>()
        @Sendable func fetchPage(_ address: String) -> Deferred<String> { address == "/a" ? a : b }
        let mirrors = DeferredList(addresses.map(fetchPage), cancelsRemaining: true)

        mirrors.first().done { index, page in
            print("\(addresses[index]) was first, with \(page.count) characters")
        }
        b.resolve("bb")
        #expect(eventLog.all == ["/b was first, with 2 characters", "a cancelled"])
    }

    @Test("Lists: at most so many at once")
    func limited() throws {
        let eventLog = eventLog
        let waiting = DeferredQueue<String>()
        @Sendable func fetchPage(at address: String) -> Deferred<String> {
            eventLog.add(address)
            return waiting.get()
        }
        let addresses = (1...6).map { "/\($0)" }
        let pages = DeferredList(addresses, limit: 4) { fetchPage(at: $0) }.results()
        #expect(eventLog.all.count == 4)
        try waiting.put("a page")
        #expect(eventLog.all.count == 5)
        for _ in 2...6 { try waiting.put("a page") }
        #expect(try successResult(of: pages).count == 6)
    }
}
