import Deferred
import DeferredTesting

/// Semaphores, locks and what runs one call at a time.
let coordination: [Shape] =
    waiting("waiters of a semaphore") { n in
        let semaphore = DeferredSemaphore(1)
        let held = semaphore.tryAcquire()
        return (0..<n).map { _ in
            semaphore.acquire().map { permit in
                withExtendedLifetime(held) {}
                return permit
            }
        }
    }
    + waiting("jobs of a lock") { n in
        let lock = DeferredLock()
        lock.run { Deferred<Int>.never() }.quiet()
        return (0..<n).map { _ in lock.run { Deferred<Int>.never() } }
    }
    + [
        Shape("waiters of a semaphore, admitted") { n, meter in
            let semaphore = DeferredSemaphore(1)
            var held = semaphore.tryAcquire()
            let waiters = meter("attached") { (0..<n).map { _ in semaphore.acquire().map { $0.release() } } }
            meter("released") { held = nil }
            _ = held
            precondition(waiters.allSatisfy(\.isSettled))
        },
        Shape("jobs in a list whose result has n consumers") { n, meter in
            let semaphore = DeferredSemaphore(1)
            let jobs = sources(n)
            let all = DeferredList(jobs.map { job in semaphore.run { job.deferred } }).values()
            let users = (0..<n).map { _ in all.map { $0.count } }
            meter("completed") { for job in jobs { _ = job.resolver.resolve(1) } }
            precondition(users.allSatisfy(\.isSettled))
        },
        Shape("jobs in a list that cancels, whose result has n consumers") { n, meter in
            let semaphore = DeferredSemaphore(1)
            let jobs = sources(n)
            let all = DeferredList(jobs.map { job in semaphore.run { job.deferred } }, cancelsRemaining: true)
                .values()
            let users = (0..<n).map { _ in all.map { $0.count } }
            meter("completed") { for job in jobs { _ = job.resolver.resolve(1) } }
            precondition(users.allSatisfy(\.isSettled))
        },
        Shape("jobs in a list whose result ends a chain of n, and a list that cancels") { n, meter in
            let semaphore = DeferredSemaphore(1)
            let jobs = sources(n)
            let all = DeferredList(jobs.map { job in semaphore.run { job.deferred } }).values()
            let users = (0..<n).map { _ in all.map { $0.count } }
            let end = DeferredList([users[n / 2], .never()], cancelsRemaining: true).first()
            meter("completed") { for job in jobs { _ = job.resolver.resolve(1) } }
            precondition(end.isSettled)
        },
        Shape("jobs in a list whose result begins a chain of n") { n, meter in
            let semaphore = DeferredSemaphore(1)
            let jobs = sources(n)
            var end = DeferredList(jobs.map { job in semaphore.run { job.deferred } }).values().map {
                $0.count
            }
            for _ in 0..<n { end = end.map { $0 } }
            meter("completed") { for job in jobs { _ = job.resolver.resolve(1) } }
            precondition(end.isSettled)
        },
        Shape("jobs of a semaphore, settled at once") { n, meter in
            let semaphore = DeferredSemaphore(1)
            let (first, resolver) = Deferred<Int>.withResolver()
            semaphore.run { first }
            let jobs = meter("attached") { (0..<n).map { _ in semaphore.run { Deferred.resolved(1) } } }
            meter("completed") { _ = resolver.resolve(1) }
            precondition(jobs.allSatisfy(\.isSettled))
        },
        Shape("jobs of a semaphore, cancelled by a list") { n, meter in
            let semaphore = DeferredSemaphore(1)
            let jobs = (0..<n).map { _ in semaphore.run { Deferred<Int>.never() } }
            let all = DeferredList(jobs).values()
            meter("cancelled") { all.cancel() }
            all.quiet()
        },
        Shape("locks in one another, cancelled") { n, meter in
            @Sendable func nested(_ rest: Int) -> Deferred<Int> {
                rest == 0 ? .never() : DeferredLock().run { nested(rest - 1) }
            }
            var end = Deferred<Int>.never()
            for _ in 0..<n {
                let inner = end
                end = DeferredLock().run { inner }
            }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
        Shape("calls of DeferredLatest, each replacing the one before") { n, meter in
            let latest = DeferredLatest()
            var calls: [Deferred<Int>] = []
            meter("replaced") { for _ in 0..<n { calls.append(latest.run { Deferred<Int>.never() }) } }
            for call in calls { call.quiet() }
            meter("cancelled") { latest.cancel() }
        },
        Shape("calls of DeferredLatest with a debounce") { n, meter in
            let clock = ManualClock()
            let latest = DeferredLatest(debounce: .seconds(1), timer: clock)
            var calls: [Deferred<Int>] = []
            meter("replaced") { for _ in 0..<n { calls.append(latest.run { Deferred.resolved(1) }) } }
            for call in calls { call.quiet() }
            meter("completed") { clock.advance(by: .seconds(1)) }
        },
        Shape("DeferredLatest in one another, cancelled") { n, meter in
            var end = Deferred<Int>.never()
            var all: [DeferredLatest] = []
            for _ in 0..<n {
                let inner = end
                all.append(DeferredLatest())
                end = all.last!.run { inner }
            }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
    ]

/// Elements, and those that wait for them.
let queues: [Shape] =
    waiting("waiters of a queue") { n in
        let queue = DeferredQueue<Int>()
        return (0..<n).map { _ in
            queue.get().map { element in
                withExtendedLifetime(queue) {}
                return element
            }
        }
    }
    + waiting("senders that wait") { n in
        let queue = DeferredQueue<Int>(size: 1)
        return (0..<n).map { number in
            queue.send(number).map { withExtendedLifetime(queue) {} }
        }
    }
    + waiting("workers of a queue") { n in
        let queue = DeferredQueue<Int>()
        return (0..<n).map { _ in queue.run { _ in withExtendedLifetime(queue) {} } }
    }
    + inEachOrder("elements that come back") { n, order, meter in
        let queue = DeferredQueue<Int>()
        for number in 0..<n { try? queue.put(number) }
        var taken: [Deferred<Int>?] = (0..<n).map { _ in queue.get() }
        meter("returned") { for index in order { taken[index] = nil } }
        precondition(queue.count == n)
        meter("taken") { for number in 0..<n { precondition(queue.tryGet() == number) } }
    }
    + inEachOrder("elements that come back one by one, and are taken") { n, order, meter in
        let queue = DeferredQueue<Int>()
        for number in 0..<(2 * n) { try? queue.put(number) }
        var taken: [Deferred<Int>?] = (0..<n).map { _ in queue.get() }
        meter("returned") {
            for index in order {
                taken[index] = nil
                _ = queue.tryGet()
                _ = queue.tryGet()
            }
        }
    }
    + [
        Shape("elements put and taken") { n, meter in
            let queue = DeferredQueue<Int>()
            meter("put") { for number in 0..<n { try? queue.put(number) } }
            meter("taken") { for number in 0..<n { precondition(queue.tryGet() == number) } }
        },
        Shape("elements of a queue, released") { n, meter in
            var queue: DeferredQueue<Int>? = DeferredQueue<Int>()
            for number in 0..<n { try? queue?.put(number) }
            meter("released") { queue = nil }
        },
        Shape("waiters of a queue, served") { n, meter in
            let queue = DeferredQueue<Int>()
            let waiters = (0..<n).map { _ in queue.get().map { $0 } }
            meter("completed") { for number in 0..<n { try? queue.put(number) } }
            precondition(waiters.allSatisfy(\.isSettled))
        },
        Shape("waiters of a queue, finished") { n, meter in
            let queue = DeferredQueue<Int>()
            let waiters = (0..<n).map { _ in queue.get() }
            meter("finished") { queue.finish() }
            for waiter in waiters { waiter.quiet() }
        },
        Shape("n workers whose jobs wait, finished") { n, meter in
            let queue = DeferredQueue<Int>()
            let jobs = sources(n)
            let workers = (0..<n).map { _ in queue.run { jobs[$0].deferred } }
            meter("put") { for number in 0..<n { try? queue.put(number) } }
            queue.finish()
            meter("completed") { for job in jobs { _ = job.resolver.resolve(1) } }
            precondition(workers.allSatisfy(\.isSettled))
        },
        Shape("n workers, their elements on their way, finished") { n, meter in
            let dispatcher = ManualDispatcher()
            let queue = DeferredQueue<Int>()
            for number in 0..<n { try? queue.put(number) }
            let getters = (0..<n).map { _ in queue.get().map(on: dispatcher) { $0 } }
            let waiting = (0..<n).map { _ in queue.get() }
            meter("finished") { queue.finish() }
            meter("delivered") { dispatcher.run() }
            for waiter in waiting { waiter.quiet() }
            precondition(getters.allSatisfy(\.isSettled))
        },
        Shape("senders that wait, taken") { n, meter in
            let queue = DeferredQueue<Int>(size: 0)
            let senders = (0..<n).map { queue.send($0) }
            meter("taken") { for number in 0..<n { precondition(queue.tryGet() == number) } }
            precondition(senders.allSatisfy(\.isSettled))
        },
        Shape("a worker of n elements with n consumers") { n, meter in
            let queue = DeferredQueue<Int>()
            let clock = ManualClock()
            let worker = queue.run { _ in Deferred.after(.seconds(1), timer: clock) }
            let users = (0..<n).map { _ in worker.map {} }
            meter("put") { for number in 0..<n { try? queue.put(number) } }
            meter("completed") { _ = clock.advanceUntilIdle(atMost: .seconds(2 * n)) }
            queue.finish()
            precondition(users.allSatisfy(\.isSettled))
        },
    ]

/// Keys, and those that ask for them.
let caches: [Shape] =
    waiting("callers of one key") { n in
        let cache = DeferredCache<Int, Int>()
        let request = Deferred<Int>.never()
        return (0..<n).map { _ in cache.value(for: 1) { request } }
    }
    + waiting("keys of a cache") { n in
        let cache = DeferredCache<Int, Int>()
        return (0..<n).map { cache.value(for: $0) { Deferred<Int>.never() } }
    }
    + inEachOrder("keys of a cache, forgotten") { n, order, meter in
        let cache = DeferredCache<Int, Int>(keepingFor: .seconds(1), timer: ManualClock())
        meter("kept") { for key in 0..<n { _ = cache.value(for: key) { .resolved(key) } } }
        meter("forgotten") { for key in order { cache.forget(key) } }
    }
    + [
        Shape("callers of one key, completed") { n, meter in
            let cache = DeferredCache<Int, Int>()
            let (request, resolver) = Deferred<Int>.withResolver()
            let callers = meter("attached") { (0..<n).map { _ in cache.value(for: 1) { request } } }
            meter("completed") { _ = resolver.resolve(1) }
            precondition(callers.allSatisfy(\.isSettled))
        },
        Shape("caches in caches, cancelled") { n, meter in
            var last = Deferred<Int>.never().map { $0 }
            for _ in 0..<n {
                let request = last
                last = DeferredCache<Int, Int>().value(for: 1) { request }
            }
            meter("cancelled") { last.cancel() }
            last.quiet()
        },
        Shape("keys of a cache, expired") { n, meter in
            let clock = ManualClock()
            let cache = DeferredCache<Int, Int>(keepingFor: .seconds(1), timer: clock)
            for key in 0..<n { _ = cache.value(for: key) { .resolved(key) } }
            meter("expired") { clock.advance(by: .seconds(1)) }
            precondition(cache.keptCount == 0)
        },
        Shape("keys of a cache, all forgotten") { n, meter in
            let cache = DeferredCache<Int, Int>(keepingFor: .seconds(1), timer: ManualClock())
            for key in 0..<n { _ = cache.value(for: key) { .resolved(key) } }
            meter("forgotten") { cache.forgetAll() }
        },
        Shape("keys of a cache, released") { n, meter in
            var cache: DeferredCache<Int, Int>? = DeferredCache(keepingFor: .seconds(1), timer: ManualClock())
            for key in 0..<n { _ = cache!.value(for: key) { .resolved(key) } }
            meter("released") { cache = nil }
        },
        Shape("requests in one another, completed") { n, meter in
            let cache = DeferredCache<Int, Int>()
            let (source, resolver) = Deferred<Int>.withResolver()
            var end = source
            meter("attached") {
                for key in 0..<n {
                    let inner = end
                    end = cache.value(for: key) { inner }
                }
            }
            meter("completed") { _ = resolver.resolve(1) }
        },
        Shape("requests in one another, cancelled") { n, meter in
            let cache = DeferredCache<Int, Int>()
            var end = Deferred<Int>.never()
            for key in 0..<n {
                let inner = end
                end = cache.value(for: key) { inner }
            }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
        Shape("requests inside of one another, cancelled") { n, meter in
            let cache = DeferredCache<Int, Int>()
            @Sendable func ask(_ key: Int) -> Deferred<Int> {
                cache.value(for: key) {
                    key == 0 ? .never() : Deferred.resolved(1).then { _ in ask(key - 1) }
                }
            }
            // Begun from inside of each other, in groups that do not take too much stack.
            let ends = (0..<(n / 8)).map { group in
                DeferredCache<Int, Int>().value(for: group) { ask(8) }
            }
            meter("cancelled") { for end in ends { end.cancel() } }
            for end in ends { end.quiet() }
        },
    ]
