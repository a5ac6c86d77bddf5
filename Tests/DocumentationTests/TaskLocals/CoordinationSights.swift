import Deferred
import DeferredTesting
import Dispatch
import Foundation
import TestSupport

/// Locks, queues, caches, timers, lists with a limit, and dispatchers.
enum CoordinationSights {
    /// Has what `pass` passes wait for `gate`, which is opened by other code.
    private static func waiting<R>(
        _ pass: (_ gate: Deferred<Void>) -> [Deferred<R>]
    ) async throws {
        let (gate, open) = Deferred<Void>.withResolver()
        let passed = pass(gate)
        asRunner { _ = open.resolve() }
        _ = try await DeferredList(passed).values().value
    }

    private static func fileLock() -> DeferredFilesystemLock {
        let name = "deferred-sights-\(UInt64.random(in: 0 ... .max))"
        return DeferredFilesystemLock(path: FileManager.default.temporaryDirectory.path + "/" + name)
    }

    static var all: [String: Sighting] { bodies.merging(dispatchers) { $1 } }

    private static let bodies: [String: Sighting] = [
        "DeferredLock.run": { probe in
            try await waiting { gate in
                let lock = DeferredLock()
                _ = lock.run { gate }
                return asCall {
                    [
                        lock.run { Deferred.resolved(probe.note()) },
                        lock.run(on: MainActor.self) { Deferred.resolved(probe.note()) },
                    ]
                }
            }
        },
        "DeferredLock.syncRun": { probe in
            try await waiting { gate in
                let lock = DeferredLock()
                _ = lock.run { gate }
                return asCall {
                    [lock.syncRun { probe.note() }, lock.syncRun(on: MainActor.self) { probe.note() }]
                }
            }
        },
        "DeferredLock.asyncRun": { probe in
            try await waiting { gate in
                let lock = DeferredLock()
                _ = lock.run { gate }
                return asCall { [lock.asyncRun { probe.note() }] }
            }
        },
        "DeferredSemaphore.run": { probe in
            try await waiting { gate in
                let semaphore = DeferredSemaphore(1)
                _ = semaphore.run { gate }
                return asCall {
                    [
                        semaphore.run { Deferred.resolved(probe.note()) },
                        semaphore.run(on: MainActor.self) { Deferred.resolved(probe.note()) },
                    ]
                }
            }
        },
        "DeferredSemaphore.syncRun": { probe in
            try await waiting { gate in
                let semaphore = DeferredSemaphore(1)
                _ = semaphore.run { gate }
                return asCall {
                    [
                        semaphore.syncRun { probe.note() },
                        semaphore.syncRun(on: MainActor.self) { probe.note() },
                    ]
                }
            }
        },
        "DeferredSemaphore.asyncRun": { probe in
            try await waiting { gate in
                let semaphore = DeferredSemaphore(1)
                _ = semaphore.run { gate }
                return asCall { [semaphore.asyncRun { probe.note() }] }
            }
        },
        "DeferredFilesystemLock.run": { probe in
            try await waiting { gate in
                let lock = fileLock()
                _ = lock.run { gate }
                return asCall { [lock.run { Deferred.resolved(probe.note()) }] }
            }
        },
        "DeferredFilesystemLock.syncRun": { probe in
            try await waiting { gate in
                let lock = fileLock()
                _ = lock.run { gate }
                return asCall { [lock.syncRun { probe.note() }] }
            }
        },
        "DeferredFilesystemLock.asyncRun": { probe in
            try await waiting { gate in
                let lock = fileLock()
                _ = lock.run { gate }
                return asCall { [lock.asyncRun { probe.note() }] }
            }
        },
        "DeferredQueue.run": { probe in
            for isOnMainActor in [false, true] {
                let queue = DeferredQueue<Int>()
                let worker = asCall {
                    isOnMainActor
                        ? queue.run(on: MainActor.self) { _ in probe.note() }
                        : queue.run { _ in probe.note() }
                }
                try asRunner {
                    try queue.put(1)
                    queue.finish()
                }
                try await worker.value
            }
        },
        "DeferredQueue.asyncRun": { probe in
            let queue = DeferredQueue<Int>()
            let worker = asCall { queue.asyncRun { _ in probe.note() } }
            try asRunner {
                for number in 1...2 { try queue.put(number) }
                queue.finish()
            }
            try await worker.value
        },
        "DeferredCache.asyncValue": { probe in
            let cache = DeferredCache<Int, Int>()
            _ = try await asCall { cache.asyncValue(for: 1) { probe.noting(1) } }.value
        },
        "DeferredLatest.run": { probe in
            for isOnMainActor in [false, true] {
                let clock = ManualClock()
                let latest = DeferredLatest(debounce: .seconds(1), timer: clock)
                let call = asCall {
                    isOnMainActor
                        ? latest.run(on: MainActor.self) { Deferred.resolved(probe.note()) }
                        : latest.run { Deferred.resolved(probe.note()) }
                }
                asRunner { clock.advance(by: .seconds(1)) }
                try await call.value
            }
        },
        "DeferredLatest.syncRun": { probe in
            for isOnMainActor in [false, true] {
                let clock = ManualClock()
                let latest = DeferredLatest(debounce: .seconds(1), timer: clock)
                let call = asCall {
                    isOnMainActor
                        ? latest.syncRun(on: MainActor.self) { probe.note() }
                        : latest.syncRun { probe.note() }
                }
                asRunner { clock.advance(by: .seconds(1)) }
                try await call.value
            }
        },
        "DeferredLatest.asyncRun": { probe in
            let clock = ManualClock()
            let latest = DeferredLatest(debounce: .seconds(1), timer: clock)
            let call = asCall { latest.asyncRun { probe.note() } }
            asRunner { clock.advance(by: .seconds(1)) }
            try await call.value
        },
        "DeferredList.init": { probe in
            for isOnMainActor in [false, true] {
                let (gate, open) = Deferred<Void>.withResolver()
                let list = asCall {
                    isOnMainActor
                        ? DeferredList([0, 1], limit: 1, on: MainActor.self) { number in
                            if number == 0 { return gate }
                            return Deferred.resolved(probe.note())
                        }
                        : DeferredList([0, 1], limit: 1) { number in
                            if number == 0 { return gate }
                            return Deferred.resolved(probe.note())
                        }
                }
                let values = asRunner { list.values() }
                if isOnMainActor { await drainMainActor() }
                asRunner { _ = open.resolve() }
                _ = try await values.value
            }
        },
        "Deferred.retry": { probe in
            for isOnMainActor in [false, true] {
                let clock = ManualClock()
                @Sendable func attempt(_ number: Int) throws -> Deferred<Int> {
                    if number == 1 { throw Refused() }
                    return Deferred.resolved(probe.noting(number))
                }
                let page = asCall {
                    isOnMainActor
                        ? Deferred<Int>.retry(
                            attempts: 2, delay: .constant(.seconds(1)), on: MainActor.self, timer: clock,
                            { @MainActor number in try attempt(number) })
                        : Deferred<Int>.retry(
                            attempts: 2, delay: .constant(.seconds(1)), timer: clock,
                            { number in try attempt(number) })
                }
                try await clock.whenScheduled().value
                asRunner { clock.advance(by: .seconds(1)) }
                _ = try await page.value
            }
            // Whether to retry.
            let (first, failing) = Deferred<Int>.withResolver()
            let page = asCall {
                Deferred<Int>.retry(attempts: 2, when: { _ in probe.noting(false) }) { first }
            }
            asRunner { _ = failing.reject(Refused()) }
            _ = await page.result
        },
        "Deferred.asyncRetry": { probe in
            let clock = ManualClock()
            let page = asCall {
                Deferred<Int>.asyncRetry(attempts: 2, delay: .constant(.seconds(1)), timer: clock) { number in
                    if number == 1 { throw Refused() }
                    return probe.noting(number)
                }
            }
            try await clock.whenScheduled().value
            asRunner { clock.advance(by: .seconds(1)) }
            _ = try await page.value
        },
        "RetryDelay.custom": { probe in
            let delay = asCall { RetryDelay.custom { _, _ in probe.noting(.zero) } }
            _ = asRunner { delay.delay(afterAttempt: 1, Refused()) }
        },
        "RetryDelay.exponential": { probe in
            let delay = asCall { RetryDelay.exponential(random: { probe.noting(0) }) }
            _ = asRunner { delay.delay(afterAttempt: 1, Refused()) }
        },
        "Deferred.repeating": { probe in
            let clock = ManualClock()
            let works = asCall {
                [
                    Deferred.repeating(every: .seconds(1), timer: clock, startsNow: false) { probe.note() },
                    Deferred.repeating(
                        every: .seconds(1), timer: clock, startsNow: false, withCount: { _ in probe.note() }),
                    Deferred.repeating(every: .seconds(1), on: MainActor.self, timer: clock, startsNow: false)
                    {
                        probe.note()
                    },
                ]
            }
            asRunner { clock.advance(by: .seconds(1)) }
            await drainMainActor()
            for work in works { work.cancel() }
        },
        "RepeatingWork.init": { probe in
            let clock = ManualClock()
            let works = asCall {
                [
                    RepeatingWork(every: .seconds(1), timer: clock, startsNow: false) { probe.note() },
                    RepeatingWork(every: .seconds(1), on: MainActor.self, timer: clock, startsNow: false) {
                        probe.note()
                    },
                ]
            }
            for _ in 0..<2 {
                asRunner { clock.advance(by: .seconds(1)) }
                await drainMainActor()
            }
            for work in works { work.cancel() }
        },
    ]

    private static let dispatchers: [String: Sighting] = [
        "DispatchQueue.dispatch": { probe in
            let (done, resolver) = Deferred<Void>.withResolver()
            asCall {
                DispatchQueue.global().dispatch { probe.note() }
                _ = DispatchQueue.global().dispatch(after: .zero) {
                    probe.note()
                    resolver.resolve()
                }
            }
            try await done.value
        },
        "DispatchQueue.deferred": { probe in
            try await asCall { DispatchQueue.global().deferred { probe.note() } }.value
        },
        "DispatchQueue.deferredFollowing": { probe in
            try await asCall { DispatchQueue.global().deferredFollowing { Deferred.resolved(probe.note()) } }
                .value
        },
        "ClockDispatcher.dispatch": { probe in
            let (done, resolver) = Deferred<Void>.withResolver()
            let clock = ClockDispatcher(.continuous)
            asCall {
                _ = clock.dispatch(after: .zero) {
                    probe.note()
                    clock.dispatch {
                        probe.note()
                        resolver.resolve()
                    }
                }
            }
            try await done.value
        },
        "ManualClock.dispatch": { probe in
            let clock = ManualClock()
            asCall {
                clock.dispatch { probe.note() }
                _ = clock.dispatch(after: .seconds(1)) { probe.note() }
            }
            asRunner { clock.advance(by: .seconds(1)) }
        },
        "ManualDispatcher.dispatch": { probe in
            let dispatcher = ManualDispatcher()
            asCall { dispatcher.dispatch { probe.note() } }
            _ = asRunner { dispatcher.run() }
        },
        "InlineDispatcher.dispatch": { probe in asCall { InlineDispatcher().dispatch { probe.note() } } },
    ]
}
