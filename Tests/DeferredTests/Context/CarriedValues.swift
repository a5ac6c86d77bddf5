import Deferred
import DeferredTesting
import Dispatch
import Synchronization
import TestSupport
import Testing

/// A value that is an object, so that its release can be observed.
private final class Span: Sendable {
    let name: String
    private let atEnd: @Sendable () -> Void

    init(_ name: String, atEnd: @escaping @Sendable () -> Void = {}) {
        (self.name, self.atEnd) = (name, atEnd)
    }

    deinit { atEnd() }
}

private enum Tracing {
    @TaskLocal static var span: Span?
    @TaskLocal static var later = "none"
    @TaskLocal static var metadata: [String: String] = [:]
}

@Suite("Task-local values that closures carry", .watchdog)
struct CarriedValues {
    private typealias Probe = TaskLocalProbe
    private let carriedOnly = TaskLocalProbe.Sight(carried: "call", plain: "runner")

    init() { DeferredTaskLocals.carry(Tracing.$span, Tracing.$metadata) }

    @Test("X2: whoever completes a Deferred, each callback sees the values of the call that attached it")
    func callbacks() {
        let probe = Probe()
        let (page, resolver) = Deferred<Int>.withResolver()
        for name in ["first", "second"] {
            Probe.with(name) {
                page.map { probe.noting($0) }
                    .then { Deferred.resolved(probe.noting($0)) }
                    .finally { _ in probe.note() }
                    .done { _ in probe.note() }
            }
        }
        Probe.with("runner") { _ = resolver.resolve(1) }
        #expect(probe.all.count == 8)
        #expect(probe.all.count { $0 == .init(carried: "first", plain: "runner") } == 4)
        #expect(probe.all.count { $0 == .init(carried: "second", plain: "runner") } == 4)
    }

    @Test("X2: a callback that is attached inside another one carries the values that this one sees")
    func nested() {
        let probe = Probe()
        let (page, resolver) = Deferred<Int>.withResolver()
        let (inner, innerResolver) = Deferred<Int>.withResolver()
        Probe.with("call") {
            page.done { _ in
                inner.done { _ in probe.note() }
                Probe.with("inside") { inner.done { _ in probe.note() } }
            }
        }
        Probe.with("runner") { _ = resolver.resolve(1) }
        Probe.with("runner") { _ = innerResolver.resolve(1) }
        #expect(probe.all == [carriedOnly, .init(carried: "inside", plain: "runner")])
    }

    @Test("X2: where nothing is bound, a closure sees the default values")
    func defaults() {
        let probe = Probe()
        let (page, resolver) = Deferred<Int>.withResolver()
        page.done { _ in
            probe.note()
            #expect(Tracing.span == nil && Tracing.metadata.isEmpty)
        }
        Tracing.$span.withValue(Span("other")) {
            Tracing.$metadata.withValue(["id": "other"]) {
                Probe.with("runner") { _ = resolver.resolve(1) }
            }
        }
        #expect(probe.all == [.init(carried: "none", plain: "runner")])
    }

    @Test(
        "X2: keys add up, one that is named twice counts once, and what was attached before is not affected")
    func naming() {
        let (page, resolver) = Deferred<Int>.withResolver()
        let seen = SharedLog<String>()
        let body: @Sendable (Int) -> Void = { _ in
            seen.add("\(Tracing.later) \(Tracing.metadata["id"] ?? "none")")
        }
        Tracing.$metadata.withValue(["id": "7"]) {
            Tracing.$later.withValue("call") {
                page.done(body)
                DeferredTaskLocals.carry(Tracing.$later, Tracing.$later)
                DeferredTaskLocals.carry(Tracing.$later)
                DeferredTaskLocals.carry()
                page.done(body)
            }
        }
        Tracing.$later.withValue("runner") { _ = resolver.resolve(1) }
        #expect(seen.all == ["runner 7", "call 7"])
    }

    @Test(
        "X2, A2: a value is released with the closure that carries it: run, bypassed, cancelled, or abandoned"
    )
    func releasing() {
        let released = SharedLog<String>()
        func attach(_ name: String, _ page: Deferred<Int>) -> Deferred<Int> {
            Tracing.$span.withValue(Span(name) { released.add(name) }) {
                page.map { _ in
                    #expect(Tracing.span?.name == name)
                    return 1
                }
            }
        }
        var (page, resolver): (Deferred<Int>, Deferred<Int>.Resolver?) = Deferred<Int>.withResolver()
        let first = attach("run", page)
        #expect(released.all.isEmpty)
        _ = resolver?.resolve(1)
        #expect(released.all == ["run"] && first.isSettled)

        (page, resolver) = Deferred<Int>.withResolver()
        let second = attach("cancelled", page)
        let third = attach("bypassed", page)
        second.cancel()
        #expect(released.all == ["run", "cancelled"])
        _ = resolver?.reject(CancellationError())
        #expect(released.all == ["run", "cancelled", "bypassed"] && third.isSettled)

        (page, resolver) = Deferred<Int>.withResolver()
        let fourth = attach("abandoned", page)
        fourth.fail { _ in }
        resolver = nil
        #expect(released.all.last == "abandoned")

        // On a dispatcher, a finalizer, a canceller.
        let queue = ManualDispatcher()
        (page, resolver) = Deferred<Int>.withResolver()
        Tracing.$span.withValue(Span("queued") { released.add("queued") }) {
            page.done(on: queue) { _ in }
        }
        Tracing.$span.withValue(Span("finalizer") { released.add("finalizer") }) { page.finally { _ in } }
        let stopped = Tracing.$span.withValue(Span("canceller") { released.add("canceller") }) {
            Deferred<Int>.withResolver(canceller: { _ in #expect(Tracing.span?.name == "canceller") })
        }
        _ = resolver?.resolve(1)
        queue.run()
        stopped.deferred.cancel()
        #expect(Set(released.all.suffix(3)) == ["queued", "finalizer", "canceller"])
    }

    @Test("X2: a value's deinit may attach callbacks, complete Deferreds and cancel")
    func deinitAttaches() {
        let log = SharedLog<String>()
        let (other, otherResolver) = Deferred<Int>.withResolver()
        let (page, resolver) = Deferred<Int>.withResolver()
        let pending = other.map { $0 }
        pending.fail { _ in log.add("cancelled") }
        let span = Span("span") {
            page.done { log.add("attached \($0)") }
            other.done { log.add("completed \($0)") }
            pending.cancel()
            otherResolver.resolve(2)
        }
        func attach(_ span: consuming Span) {
            Tracing.$span.withValue(span) { page.done { log.add("callback \($0)") } }
        }
        attach(span)
        _ = consume span
        resolver.resolve(1)
        #expect(log.all.first == "callback 1")
        #expect(Set(log.all) == ["callback 1", "attached 1", "completed 2", "cancelled"])
    }

    @Test(
        "X2: callbacks that complete others in the body of a task group see their values, and child tasks do")
    func taskGroup() async {
        let probe = Probe()
        let (page, resolver) = Deferred<Int>.withResolver()
        Probe.with("call") { page.done { _ in probe.note() } }
        await withTaskGroup(of: Void.self) { group in
            Probe.with("runner") { _ = resolver.resolve(1) }
            group.addTask { probe.note() }
        }
        #expect(probe.all == [carriedOnly, .init(carried: "none", plain: "none")])
    }

    @Test(
        "X2, F6: a long chain that carries values is completed, cancelled and released on a small stack"
    )
    func depth() async throws {
        for settle in [{ _ = $0.resolve(0) }, { $0.cancel() }, { _ in }]
            as [@Sendable (Deferred<Int>) -> Void]
        {
            try await onSmallStack {
                let page = Deferred<Int>()
                var last = page
                for _ in 0..<Extent.depth { last = last.map { $0 + 1 } }
                last.recover { _ in 0 }.done { _ in }
                settle(page)
            }
        }
    }

    @Test(
        "X2: keys that are named while threads attach are carried by what is attached after, never half",
        .ownThreads)
    func racing() async throws {
        enum Keys {
            @TaskLocal static var first = 0
            @TaskLocal static var second = 0
        }
        let (page, resolver) = Deferred<Int>.withResolver()
        let odd = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            if thread == 0 { return DeferredTaskLocals.carry(Keys.$first, Keys.$second) }
            for number in 1...1_000 {
                Keys.$first.withValue(number) {
                    Keys.$second.withValue(number) {
                        page.done { _ in
                            let seen = [Keys.first, Keys.second]
                            if !seen.allSatisfy({ $0 == 0 || $0 == number }) {
                                odd.add(1, ordering: .relaxed)
                            }
                        }
                    }
                }
            }
        }
        resolver.resolve(1)
        #expect(odd.load(ordering: .relaxed) == 0)
    }
}
