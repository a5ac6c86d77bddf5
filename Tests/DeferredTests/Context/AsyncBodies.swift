import Deferred
import DeferredTesting
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

private enum Request {
    @TaskLocal static var tenant = "none"
    @TaskLocal static var number = 0
}

/// Async bodies that wait see the values of the call that passed them, whoever lets them run.
@Suite("Async bodies: task-local values", .watchdog)
struct AsyncBodies {
    private func asTenant<R>(_ name: String, _ body: () throws -> R) rethrows -> R {
        try Request.$tenant.withValue(name, operation: body)
    }

    @Test(
        "X1: the body of asyncRun sees the values of its call, not those of the caller that released the permit"
    )
    func permits() async throws {
        let lock = DeferredLock()
        let semaphore = DeferredSemaphore(1)
        let folder = FileManager.default.temporaryDirectory.path
        let file = DeferredFilesystemLock(path: "\(folder)/deferred-context-\(UUID()).lock")
        let (gate, open) = Deferred<Void>.withResolver()
        let first = asTenant("A") { [lock.run { gate }, semaphore.run { gate }, file.run { gate }] }
        let second = asTenant("B") {
            [
                lock.asyncRun { Request.tenant }, semaphore.asyncRun { Request.tenant },
                file.asyncRun { Request.tenant },
            ]
        }
        let third = asTenant("C") { lock.asyncRun { Request.tenant } }
        asTenant("A") { _ = open.resolve() }
        _ = try await DeferredList(first).values().value
        #expect(try await DeferredList(second).values().value == ["B", "B", "B"])
        #expect(try await third.value == "C")
        // One that does not wait.
        #expect(try await asTenant("D") { lock.asyncRun { Request.tenant } }.value == "D")
    }

    @Test("X1: a body in a Task sees the values of that Task, whose caller released the permit in another")
    func tasks() async throws {
        let lock = DeferredLock()
        let (entered, enter) = Deferred<Void>.withResolver()
        let (gate, open) = Deferred<Void>.withResolver()
        let first = Task {
            try await Request.$tenant.withValue("A") {
                try await lock.asyncRun {
                    enter.resolve()
                    try await gate.value
                    return Request.tenant
                }.value
            }
        }
        try await entered.value
        let second = asTenant("B") { lock.asyncRun { Request.tenant } }
        open.resolve()
        #expect(try await first.value == "A")
        #expect(try await second.value == "B")
    }

    @Test("X1: each attempt of asyncRetry sees the values of its call")
    func retry() async throws {
        let clock = ManualClock()
        let seen = SharedLog<String>()
        let page = asTenant("B") {
            Deferred.asyncRetry(attempts: 3, delay: .constant(.seconds(1)), timer: clock) { attempt in
                seen.add("\(attempt): \(Request.tenant)")
                if attempt < 3 { throw TestError() }
                return attempt
            }
        }
        for _ in 0..<2 {
            try await clock.whenScheduled(1).value
            asTenant("A") { clock.advance(by: .seconds(1)) }
        }
        #expect(try await page.value == 3)
        #expect(seen.all == ["1: B", "2: B", "3: B"])
    }

    @Test(
        "X1: the body of DeferredLatest.asyncRun, asyncValue and an async worker see the values of their call"
    )
    func others() async throws {
        let clock = ManualClock()
        let latest = DeferredLatest(debounce: .seconds(1), timer: clock)
        let call = asTenant("B") { latest.asyncRun { Request.tenant } }
        asTenant("A") { clock.advance(by: .seconds(1)) }
        #expect(try await call.value == "B")

        let cache = DeferredCache<Int, String>()
        #expect(try await asTenant("B") { cache.asyncValue(for: 1) { Request.tenant } }.value == "B")

        let (queue, seen) = (DeferredQueue<Int>(), SharedLog<String>())
        let worker = asTenant("B") { queue.asyncRun { seen.add("\($0): \(Request.tenant)") } }
        for number in 1...3 { try asTenant("A\(number)") { try queue.put(number) } }
        queue.finish()
        try await worker.value
        #expect(seen.all == ["1: B", "2: B", "3: B"])
    }

    @Test("X1: asyncMap, asyncDone and asyncRecover see the values of the call that attached them")
    func callbacks() async throws {
        let (page, resolver) = Deferred<Int>.withResolver()
        let (failing, failer) = Deferred<Int>.withResolver()
        let seen = SharedLog<String>()
        let (mapped, done, recovered) = asTenant("B") {
            (
                page.asyncMap { "\($0) \(Request.tenant)" }, page.asyncDone { _ in seen.add(Request.tenant) },
                failing.asyncRecover { _ in Request.tenant == "B" ? 1 : 0 }
            )
        }
        asTenant("A") {
            _ = resolver.resolve(7)
            _ = failer.reject(TestError())
        }
        #expect(try await mapped.value == "7 B")
        try await done.value
        #expect(seen.all == ["B"])
        #expect(try await recovered.value == 1)
        // Attached to one that is settled.
        #expect(try await asTenant("C") { page.asyncMap { _ in Request.tenant } }.value == "C")
    }

    @Test("X1: an async body has the priority of its call")
    func priority() async throws {
        let lock = DeferredLock()
        let (gate, open) = Deferred<Void>.withResolver()
        lock.run { gate }
        let low = await Task(priority: .background) {
            lock.asyncRun { Task.basePriority }
        }.value
        let (page, resolver) = Deferred<Int>.withResolver()
        let chosen = page.asyncMap(priority: .utility) { _ in Task.basePriority }
        open.resolve()
        resolver.resolve(1)
        #expect(try await low.value == .background)
        #expect(try await chosen.value == .utility)
    }

    @Test(
        "X1, Q2: a waiting asyncRun that is cancelled leaves at once, releases its body, and loses no permit")
    func cancelling() async throws {
        let lock = DeferredLock()
        let tracker = LeakTracker()
        let (gate, open) = Deferred<Void>.withResolver()
        let holder = lock.run { gate }
        let waiting = (0..<10).map { _ in
            let tracked = tracker.begin()
            return lock.asyncRun { tracked.returning(1) }
        }
        #expect(lock.waitingCount == 10 && tracker.alive == 10)
        for run in waiting[..<9] {
            run.cancel()
            #expect(try failureResult(of: run) is CancellationError)
        }
        #expect(lock.waitingCount == 1 && tracker.alive == 1)
        open.resolve()
        try await holder.value
        #expect(try await waiting[9].value == 1)
        #expect(!lock.isLocked)
    }

    @Test("X1, C7: a cancel of several admits none of the async bodies that wait")
    func cancellingSeveral() async throws {
        let semaphore = DeferredSemaphore(2)
        let started = Atomic(0)
        let (entered, enter) = Deferred<Void>.withResolver()
        let runs = (0..<20).map { number in
            semaphore.asyncRun {
                if started.add(1, ordering: .relaxed).newValue == 2 { enter.resolve() }
                try await Deferred<Void>.never().value
            }
        }
        try await entered.value
        let all = DeferredList(runs).values()
        all.cancel()
        for run in runs { #expect(await run.result.isCancellation) }
        #expect(try await semaphore.syncRun { true }.value)
        #expect(started.load(ordering: .relaxed) == 2 && semaphore.waitingCount == 0)
    }

    @Test("X1: a cancel of a body that runs cancels its Task, and the next one runs in its own")
    func cancellingRunning() async throws {
        let lock = DeferredLock()
        let (entered, enter) = Deferred<Void>.withResolver()
        let (gate, open) = Deferred<Void>.withResolver()
        lock.run { gate }
        let first = asTenant("A") {
            lock.asyncRun {
                enter.resolve()
                try await Deferred<Void>.never().value
            }
        }
        let second = asTenant("B") { lock.asyncRun { "\(Request.tenant) \(Task.isCancelled)" } }
        open.resolve()
        try await entered.value
        asTenant("C") { first.cancel() }
        #expect(try await second.value == "B false")
    }

    @Test(
        "X1, A2: an async body and its values are released when it has ended, was bypassed or was abandoned")
    func lifetimes() async throws {
        let tracker = LeakTracker()
        func ended(_ settle: (Deferred<Int>.Resolver?) -> Void) async {
            var (page, resolver): (Deferred<Int>, Deferred<Int>.Resolver?) = Deferred<Int>.withResolver()
            let tracked = tracker.begin()
            let mapped = page.asyncMap { tracked.returning($0) }
            let last = resolver
            resolver = nil
            settle(last)
            _ = await mapped.result
            page = .never()
        }
        await ended { _ = $0?.resolve(1) }
        await ended { _ = $0?.reject(TestError()) }
        // The Task of the body that ran may be about to end.
        while tracker.alive > 0 { await Task.yield() }
    }

    @Test("X1, F6: many async bodies that wait for each other's permit take no stack", .ownThreads)
    func many() async throws {
        let lock = DeferredLock()
        let (gate, open) = Deferred<Void>.withResolver()
        lock.run { gate }
        let sum = Atomic(0)
        let runs = (0..<min(Extent.depth, 100_000)).map { number in
            Request.$number.withValue(number) {
                lock.asyncRun { _ = sum.add(Request.number == number ? 1 : 0, ordering: .relaxed) }
            }
        }
        open.resolve()
        _ = try await DeferredList(runs).values().value
        #expect(sum.load(ordering: .relaxed) == min(Extent.depth, 100_000))
    }
}

extension Result where Failure == any Error {
    fileprivate var isCancellation: Bool {
        if case .failure(let error) = self { error is CancellationError } else { false }
    }
}
