import Deferred
import DeferredTesting
import Foundation
import TestSupport
import Testing

extension Rules {
    @Suite("Rules Z1, Z2, Z3: finalizers") struct Finalizers {
        @Test("Z1: it runs once, with the outcome, on value, failure, cancel and abandonment")
        func everyOutcome() {
            let log = Log()
            var source: Deferred<Int>? = Deferred<Int>()
            #expect(source!.finally { log(outcome($0)) } == source!)
            source!.resolve(1)
            source = Deferred<Int>()
            source!.finally { log(outcome($0)) }
            source!.reject(Boom(1))
            source!.fail { _ in }
            source = Deferred<Int>(canceller: { _ in log("canceller") })
            source!.finally { log(outcome($0)) }
            source!.cancel()
            source = Deferred<Int>()
            source!.finally { log(outcome($0)) }
            source = nil
            #expect(log.all == ["1", "Boom(1)", "canceller", "cancelled", "abandoned"])
        }

        /// Ways to attach a callback that logs "last" when what is returned is called, after the source has been
        /// resolved.
        static let waits: [String: @Sendable (Deferred<Int>, Log) -> @Sendable () -> Void] = [
            "nested waits": { source, log in
                let (inner, innermost) = (Deferred<Int>(), Deferred<Int>())
                source.then { _ in inner }.then { _ in innermost }.done { _ in log("last") }
                return {
                    inner.resolve(2)
                    #expect(log.all.isEmpty)
                    innermost.resolve(3)
                }
            },
            "steps on a dispatcher": { source, log in
                let queue = ManualDispatcher()
                source.map(on: queue) { $0 }.done(on: queue) { _ in log("last") }
                return {
                    queue.runNext()
                    #expect(log.all.isEmpty)
                    queue.runNext()
                }
            },
            "work that its dispatcher drops": { source, log in
                let queue = ManualDispatcher()
                source.done(on: queue) { _ in log("dispatched") }.fail { _ in log("last") }
                return { queue.dropAll() }
            },
            "a pause": { source, log in
                source.pause()
                source.done { _ in log("last") }
                return { source.unpause() }
            },
            "a pause from inside": { source, log in
                source.done { _ in source.pause() }
                source.map { $0 }.done { _ in log("last") }
                return { source.unpause() }
            },
            "a chain that waits for it": { source, log in
                let inner = Deferred<Int>()
                Deferred.resolved(0).then { _ in source }.then { _ in inner }.done { _ in log("last") }
                return { inner.resolve(2) }
            },
            "a list": { source, log in
                let inner = Deferred<Int>()
                DeferredList([source, .resolved(2)]).values().then { _ in inner }.done { _ in log("last") }
                return { inner.resolve(2) }
            },
            "a list with a limit, as its last input": { source, log in
                let inner = Deferred<Int>()
                DeferredList([source], limit: 1) { $0 }.values().then { _ in inner }.done { _ in log("last") }
                return { inner.resolve(2) }
            },
            "a follower": { source, log in
                let (follower, inner) = (Deferred<Int>(), Deferred<Int>())
                follower.follow(source)
                follower.then { _ in inner }.done { _ in log("last") }
                return { inner.resolve(2) }
            },
        ]

        @Test(
            "Z1: it runs after everything that follows, whether added before that or after it",
            arguments: waits.keys.sorted(), [true, false])
        func outlives(wait: String, isAddedFirst: Bool) throws {
            let (source, log) = (Deferred<Int>(), Log())
            if isAddedFirst { source.finally { _ in log("finalizer") } }
            let attach = try #require(Self.waits[wait])
            let endWait = attach(source, log)
            if !isAddedFirst { source.finally { _ in log("finalizer") } }
            source.resolve(1)
            #expect(log.all.isEmpty)
            endWait()
            #expect(log.all == ["last", "finalizer"])
        }

        @Test("Z1: one of an input of a list with a limit does not wait for the next input")
        func beforeNextInput() {
            let (inputs, log) = ([Deferred<Int>(), Deferred<Int>()], Log())
            for input in inputs { input.finally { log("finalizer \(outcome($0))") } }
            let list = DeferredList(inputs, limit: 1) { $0 }
            list.values().done { _ in log("values") }
            inputs[0].resolve(0)
            #expect(log.all == ["finalizer 0"])
            inputs[1].resolve(1)
            #expect(log.all == ["finalizer 0", "values", "finalizer 1"])
        }

        @Test("Z1: with a dispatcher it runs there; what drops it runs it, and it runs once")
        func dispatchedFinalizer() {
            let log = Log()
            let queue = ManualDispatcher()
            let source = Deferred<Int>()
            source.finally(on: queue) { log("dispatched \(outcome($0))") }
            source.done { _ in log("callback") }
            source.resolve(1)
            #expect(log.all == ["callback"])
            queue.run()
            #expect(log.all == ["callback", "dispatched 1"])
            let dropped = Deferred<Int>()
            dropped.finally(on: DroppingDispatcher()) { _ in log("dropped") }
            dropped.resolve(1)
            #expect(log.all.last == "dropped")
            #expect(log.all.count == 3)
        }

        @Test("Z2: what comes after a finalizer on a dispatcher waits until that has run or was dropped")
        func orderOnDispatchers() {
            let log = Log()
            func chain(_ dispatcher: any Dispatcher) {
                let source = Deferred<Int>()
                source.finally { _ in log("upstream") }
                let last = source.map { $0 }
                last.finally { _ in log("added first") }
                last.finally(on: dispatcher) { _ in log("dispatched") }
                last.finally { _ in log("added last") }
                source.resolve(1)
            }
            let (queue, dropped) = (ManualDispatcher(), ManualDispatcher())
            let all = ["added last", "dispatched", "added first", "upstream"]
            chain(queue)
            #expect(log.all == ["added last"])
            queue.run()
            #expect(log.all == all)
            chain(dropped)
            #expect(log.all == all + ["added last"])
            dropped.dropAll()
            #expect(log.all == all + all)
            chain(DroppingDispatcher())
            chain(InlineDispatcher())
            #expect(log.all == all + all + all + all)
        }

        /// Ends of chains that begin with a source.
        static let ends: [String: @Sendable (Deferred<Int>) -> Deferred<Int>] = [
            "the source": { $0 },
            "a link": { source in source.map { $0 } },
            "a link that waits for it": { source in Deferred.resolved(0).then { _ in source } },
            "a Deferred that follows it": { source in
                let deferred = Deferred<Int>()
                deferred.follow(source)
                return deferred
            },
        ]

        @Test(
            "Z1, Z2: behind a pause, what comes of a cancel precedes the finalizers of what is paused",
            arguments: ends.keys.sorted())
        func behindAPause(end name: String) throws {
            let (log, queue) = (Log(), ManualDispatcher())
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            source.finally { _ in log("source") }
            let attach = try #require(Self.ends[name])
            let paused = attach(source)
            paused.finally { _ in log("paused") }
            let ends = [paused.map { $0 }, paused.map { $0 }]
            for (number, end) in ends.enumerated() {
                end.finally { _ in log("end \(number)") }
                end.fail(on: queue) { _ in log("errback \(number)") }
            }
            paused.pause()
            for end in ends { end.cancel() }
            #expect(log.all == ["canceller"])
            queue.run()
            let all = ["canceller", "errback 0", "end 0", "errback 1", "end 1", "paused", "source"]
            // The first leaves; what the last has waited for ends with it.
            #expect(log.all == all)
            paused.unpause()
            #expect(log.all == all)
        }

        /// Lists of one input.
        static let lists: [String: @Sendable (Deferred<Int>) -> Deferred<Void>] = [
            "values": { input in DeferredList([input], consumesErrors: true).values().map { _ in } },
            "first": { input in DeferredList([input], consumesErrors: true).first().map { _ in } },
            "results": { input in DeferredList([input]).results().map { _ in } },
            "gather": { input in gather(input, Deferred<Int>.never(), consumesErrors: true).map { _ in } },
            "a limit": { input in
                DeferredList([0], limit: 1, consumesErrors: true) { _ in input }.values().map { _ in }
            },
            "one of several": { input in
                let list = DeferredList([input], consumesErrors: true).values()
                return DeferredList([list, .never()], consumesErrors: true).values().map { _ in }
            },
        ]

        @Test(
            "Z2, D4: what is below a cancelled list precedes the finalizers of its inputs, however long that is",
            arguments: lists.keys.sorted(), [0, 1, 2, 5])
        func belowACancelledList(name: String, length: Int) throws {
            for isDispatched in [false, true] {
                let (log, queue) = (Log(), ManualDispatcher())
                let input = Deferred<Int>()
                input.finally { _ in log("input") }
                let makeList = try #require(Self.lists[name])
                let list = makeList(input)
                list.finally { _ in log("list") }
                var end = list
                for number in 0..<length {
                    end = end.recover(on: isDispatched ? queue : nil) { error in
                        log("errback \(number)")
                        throw error
                    }
                }
                end.fail { _ in log("end") }
                end.cancel()
                queue.run()
                #expect(log.all == (0..<length).map { "errback \($0)" } + ["end", "list", "input"])
            }
        }

        @Test(
            "Z1, Z2: a finalizer is not lost whose Deferred comes to follow what was cancelled ahead of it",
            arguments: [false, true])
        func followingWhatIsBelow(isPaused: Bool) {
            let (log, pending) = (Log(), Deferred<Int>())
            let below = Box<Deferred<Int>?>(nil)
            let source = Deferred<Int>(canceller: { resolver in
                log("canceller")
                if let below = below.value { resolver.follow(below) }
            })
            source.finally { _ in log("source") }
            let end = isPaused ? source.map { $0 } : DeferredList([source]).values().map { $0[0] }
            below.value = end.orElse { _ in pending.shielded() }
            if isPaused { source.pause() }
            end.cancel()
            pending.resolve(1)
            if isPaused { source.unpause() }
            #expect(log.all == ["canceller", "source"])
            below.value = nil
        }

        @Test("Z2, D4: the finalizers of inputs that a decided list cancels do not wait for what is below it")
        func belowADecidedList() {
            let (log, pending) = (Log(), Deferred<Int>())
            let inputs = [Deferred<Int>(), Deferred<Int>()]
            inputs[1].finally { _ in log("input") }
            let first = DeferredList(inputs, cancelsRemaining: true).first()
            let end = first.then { _ in pending }.map { _ in log("end") }
            inputs[0].resolve(0)
            #expect(log.all == ["input"])
            pending.resolve(1)
            #expect(log.all == ["input", "end"])
            withExtendedLifetime(end) {}
        }

        @Test(
            "Z3: added to a settled Deferred it runs at once: idle, while its callbacks run, or while paused")
        func addedToSettled() {
            let log = Log()
            let settled = Deferred.resolved(1)
            settled.finally { log("idle \(outcome($0))") }
            #expect(log.all == ["idle 1"])

            let source = Deferred<Int>()
            source.done { _ in
                source.finally { _ in log("inside") }
                log("callback")
            }
            source.done { _ in log("second") }
            source.resolve(1)
            #expect(log.all == ["idle 1", "inside", "callback", "second"])

            let paused = Deferred<Int>()
            paused.pause()
            paused.done { _ in log("held") }
            paused.resolve(1)
            paused.finally { _ in log("paused") }
            #expect(log.all.last == "paused")
            paused.unpause()
            #expect(log.all.last == "held")
        }
    }
}
