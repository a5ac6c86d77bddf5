import Deferred
import DeferredTesting
import DeferredTracing
import Multicast

private struct Failed: Error {}

private struct Dropping: Dispatcher {
    func dispatch(_ work: @escaping @Sendable () -> Void) {}
}

/// Ends what a loop has made.
private func drop<Value>(_ deferred: Deferred<Value>) {
    deferred.cancel()
    deferred.fail { _ in }
}

/// What lives as long as the program.
private let (long, longResolver) = Deferred<Int>.withResolver()
private let other = long.map { $0 }
private let clock = ManualClock()
private let semaphore = DeferredSemaphore(1)
private let queue = DeferredQueue<Int>()
private let cache = DeferredCache<Int, Int>()
private let keptCache = DeferredCache<Int, Int>(keepingFor: .seconds(1), timer: clock)
private let latest = DeferredLatest()
private let debounced = DeferredLatest(debounce: .seconds(1), timer: clock)
private let bag = CancelBag()
private let lock = DeferredLock()
private let channel = BroadcastChannel<Int>()
private let delegates = MulticastDelegate<Owner>()
private let closures = MulticastClosures<Int, Failed>()
private let directory = ChannelDirectory()
private let dispatcher = ManualDispatcher()
private let paused: Deferred<Int> = {
    let deferred = Deferred<Int>.resolved(1)
    deferred.pause()
    return deferred
}()
private let bounded = DeferredQueue<Int>(size: 1)

/// Not from an asynchronous function.
private func waitInVain() -> Int? { try? long.wait(timeout: .zero) }

private final class Owner: Sendable {}

let allLoops: [Loop] = [
    Loop("first decided") {
        _ = DeferredList([long, .resolved(1)]).first()
    },
    Loop("first decided, cancelsRemaining") {
        _ = DeferredList([long, .resolved(1)], cancelsRemaining: true).first()
    },
    Loop("values failed") {
        DeferredList([long, .rejected(Failed())]).values().fail { _ in }
    },
    Loop("values failed, consumes") {
        DeferredList([long, .rejected(Failed())], consumesErrors: true).values().fail { _ in }
    },
    Loop("results cancelled") {
        drop(DeferredList([long]).results())
    },
    Loop("gather failed") {
        gather(long, Deferred<Int>.rejected(Failed())).fail { _ in }
    },
    Loop("gather cancelled") {
        drop(gather(long, long))
    },
    Loop("limited first") {
        _ = DeferredList([long, .resolved(1)], limit: 2) { $0 }.first()
    },
    Loop("limited values failed") {
        DeferredList([long, .rejected(Failed())], limit: 2) { $0 }.values().fail { _ in }
    },
    Loop("limited cancelled") {
        drop(DeferredList([long, long], limit: 1) { $0 }.results())
    },
    Loop("completed left") {
        for await _ in DeferredList([long, .resolved(1)]).completed { break }
    },
    Loop("limited completed left") {
        for await _ in DeferredList([long, .resolved(1)], limit: 2, { $0 }).completed { break }
    },
    Loop("shielded cancelled") {
        drop(long.shielded())
    },
    Loop("shielded timed out") {
        long.shielded().timeout(.seconds(1), timer: clock).fail { _ in }
        clock.advance(by: .seconds(1))
    },
    Loop("shielded dropped") {
        _ = long.shielded()
    },
    Loop("follow dropped") {
        Deferred<Int>().follow(long)
    },
    Loop("follow cancelled") {
        let d = Deferred<Int>()
        d.follow(long)
        drop(d)
    },
    Loop("follow resolved") {
        let d = Deferred<Int>()
        d.follow(long)
        d.resolve(1)
    },
    Loop("resolver follow dropped") {
        let (d, r) = Deferred<Int>.withResolver()
        r.follow(long)
        _ = d
    },
    Loop("map cancelled") {
        drop(long.map { $0 })
    },
    Loop("nested cancelled") {
        drop(Deferred.resolved(1).then { _ in long })
    },
    Loop("timeout") {
        long.timeout(.seconds(1), timer: clock).fail { _ in }
        clock.advance(by: .seconds(1))
    },
    Loop("await cancelled") {
        let t = Task { try await long.value }
        t.cancel()
        _ = await t.result
    },
    Loop("wait timed out") {
        _ = waitInVain()
    },
    Loop("retry cancelled") {
        drop(Deferred.retry { long })
    },
    Loop("semaphore run cancelled") {
        drop(semaphore.run { long })
    },
    Loop("lock asyncRun cancelled") {
        drop(lock.asyncRun { try await long.value })
    },
    Loop("queue get cancelled") {
        drop(queue.get())
    },
    Loop("queue get timed out") {
        queue.get().timeout(.seconds(1), timer: clock).fail { _ in }
        clock.advance(by: .seconds(1))
    },
    Loop("queue worker cancelled") {
        drop(queue.run { _ in })
    },
    Loop("queue put get") {
        try? queue.put(1)
        queue.get().done { _ in }
    },
    Loop("queue put, get dropped") {
        try? queue.put(1)
        _ = queue.get()
        _ = queue.tryGet()
    },
    Loop("cache cancelled") {
        drop(cache.value(for: 1) { long.map { $0 } })
    },
    Loop("latest replaced") {
        latest.run { long.map { $0 } }.fail { _ in }
    },
    Loop("bag") {
        _ = long.map { $0 }.store(in: bag)
        bag.cancelAll()
    },
    Loop("behind a pause: map cancelled") {
        drop(paused.map { $0 })
    },
    Loop("behind a pause: timeout") {
        paused.shielded().timeout(.seconds(1), timer: clock).fail { _ in }
        clock.advance(by: .seconds(1))
    },
    Loop("behind a pause: list cancelled") {
        drop(DeferredList([paused]).values())
    },
    Loop("behind a pause: await cancelled") {
        let t = Task { try await paused.value }
        t.cancel()
        _ = await t.result
    },
    Loop("task operation cancelled") {
        drop(Deferred { try await long.value })
    },
    Loop("undelivered") {
        Deferred<Int>().resolve(1, onUndelivered: { _ in })
    },
    Loop("dispatched, dropped") {
        Deferred.resolved(1).done(on: Dropping()) { _ in }.fail { _ in }
    },
    Loop("dispatched at once") {
        long.map(on: InlineDispatcher()) { $0 }.cancel()
    },
    Loop("repeating cancelled") {
        drop(Deferred<Void>.repeating(every: .seconds(1), timer: clock) {})
    },
    Loop("idle timer cancelled") {
        let t = IdleTimer(after: .seconds(1), timer: clock)
        t.cancel()
        t.deferred.fail { _ in }
    },
    Loop("after cancelled") {
        drop(Deferred.after(.seconds(1), timer: clock, value: 1))
    },
    Loop("answered cancel below follow") {
        let d = Deferred<Int>(), o = Deferred<Int>(), i = Deferred<Int>()
        d.follow(o.orElse { _ in i })
        drop(d.map { $0 })
        i.resolve(1)
    },
    Loop("finalizer") {
        drop(long.map { $0 }.finally { _ in })
    },
    Loop("channel post") {
        channel.post(1)
    },
    Loop("a watcher of a clock, cancelled") { drop(clock.whenScheduled(1_000_000)) },
    Loop("a cache's value, kept and expired") {
        _ = keptCache.value(for: 1) { .resolved(1) }
        clock.advance(by: .seconds(2))
    },
    Loop("a cache's value, kept and forgotten") {
        _ = keptCache.value(for: 2) { .resolved(1) }
        keptCache.forget(2)
    },
    Loop("a cache's request that fails") {
        cache.value(for: 3) { .rejected(Failed()) }.fail { _ in }
    },
    Loop("a debounced call, replaced") { debounced.run { Deferred.resolved(1) }.fail { _ in } },
    Loop("a sender that waits, cancelled") {
        try? bounded.put(1)
        drop(bounded.send(2))
    },
    Loop("a listener whose owner goes away") { channel.listen(Owner()) { _ in } },
    Loop("a listener, removed") {
        let owner = Owner()
        channel.listen(owner) { _ in }
        channel.remove(owner)
    },
    Loop("a channel that is finished with deliveries queued") {
        let (own, owner) = (BroadcastChannel<Int>(), Owner())
        own.listen(owner, on: dispatcher) { _ in }
        own.post(1)
        own.finish()
        dispatcher.run()
    },
    Loop("a named channel, used and left") { BroadcastChannel<Int>("name", in: directory).post(1) },
    Loop("a delegate, added and gone") {
        delegates.add(Owner(), on: nil)
        delegates.notify { _ in }
    },
    Loop("delegates asked, cancelled") {
        let owner = Owner()
        delegates.add(owner, on: nil)
        drop(delegates.all { _ in long.map { $0 > 0 } })
        delegates.remove(owner)
    },
    Loop("a pair of closures, called") {
        let owner = Owner()
        closures.add(owner, success: { _ in }, failure: { _ in })
        closures.complete(with: .success(1))
    },
    Loop("a job of a semaphore in a list that cancels") {
        drop(DeferredList([semaphore.run { long.map { $0 } }, long], cancelsRemaining: true).first())
    },
    Loop("a retry that fails") {
        Deferred<Int>.retry(attempts: 3, delay: .constant(.seconds(1)), timer: clock) { .rejected(Failed()) }
            .fail { _ in }
        clock.advance(by: .seconds(3))
    },
    Loop("repeating work, stopped") {
        let work = RepeatingWork(every: .seconds(1), timer: clock) {}
        clock.advance(by: .seconds(2))
        work.stop()
    },
    Loop("an element that comes back") {
        try? bounded.put(1)
        _ = bounded.get()
        _ = bounded.tryGet()
    },
    Loop("a recording, begun and stopped") {
        let recording = DeferredDiagnostics.startRecording()
        _ = Deferred.resolved(1).map { $0 }
        recording.stop()
    },
]
