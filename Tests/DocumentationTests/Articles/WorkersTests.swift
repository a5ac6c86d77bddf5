import Deferred
import DeferredTesting
import TestSupport
import Testing

private struct Job: Sendable {
    let name: String
    let work: Deferred<Void>
}

/// Performs jobs, at most four at a time.
private final class Pool: Sendable {
    private let jobs = DeferredQueue<Job>(size: 100)
    private let workers: [Deferred<Void>]

    init(_ perform: @escaping @Sendable (Job) -> Deferred<Void>) {
        let jobs = jobs
        workers = (0..<4).map { _ in jobs.run { job in perform(job) } }
    }

    func add(_ job: Job) throws { try jobs.put(job) }

    func shutDown(within limit: Duration, on clock: any DelayedDispatcher) -> Deferred<Void> {
        jobs.finish()
        return DeferredList(workers).results()
            .timeout(limit, on: clock)
            .done { _ in }
    }
}

@Suite struct WorkersTests {
    let eventLog = SharedLog<String>()
    let clock = ManualClock()

    @Test("Workers: a semaphore starts the next job before what stands behind run")
    func nextBeforeCallbacks() {
        let (eventLog, semaphore, first) = (eventLog, DeferredSemaphore(1), Deferred<Void>())
        semaphore.run { first }.done { eventLog.add("behind run") }
        semaphore.syncRun { eventLog.add("next") }
        first.resolve()
        #expect(eventLog.all == ["next", "behind run"])
    }

    private func pool() -> Pool {
        let eventLog = eventLog
        return Pool { job in
            eventLog.add("\(job.name) begins")
            return job.work.both { result in eventLog.add("\(job.name): \(result.isSuccess)") }
        }
    }

    @Test("Workers: at most so many jobs at once, and the shutdown waits for those in the queue")
    func shutDown() throws {
        let pool = pool()
        let jobs = (1...6).map { Job(name: "\($0)", work: Deferred()) }
        for job in jobs { try pool.add(job) }
        #expect(eventLog.all == ["1 begins", "2 begins", "3 begins", "4 begins"])

        let ended = pool.shutDown(within: .seconds(30), on: clock)
        #expect(throws: DeferredError.finished) { try pool.add(jobs[0]) }
        for job in jobs { job.work.resolve() }
        try successResult(of: ended)
        #expect(eventLog.all.count == 12)
    }

    @Test("Workers: a shutdown that takes too long cancels the jobs in progress")
    func timeLimit() throws {
        let pool = pool()
        let cancelled = eventLog
        let work = Deferred<Void>(canceller: { _ in cancelled.add("cancelled") })
        try pool.add(Job(name: "slow", work: work))
        let ended = pool.shutDown(within: .seconds(30), on: clock)
        clock.advance(by: .seconds(30))
        #expect(try failureResult(of: ended) as? DeferredError == .timedOut)
        #expect(eventLog.all == ["slow begins", "cancelled", "slow: false"])
    }

    @Test("Workers: a producer that waits for room")
    func producer() throws {
        let jobs = DeferredQueue<Job>(size: 100)
        @Sendable func makeJob(_ number: Int) -> Job { Job(name: "\(number)", work: .resolved()) }
        @Sendable func produce(_ number: Int) -> Deferred<Void> {
            if number == 1000 { return .resolved() }
            return jobs.send(makeJob(number)).then { produce(number + 1) }
        }
        let producing = produce(0)
        #expect(jobs.count == 100 && jobs.sendingCount == 1)
        let worker = jobs.run { job in job.work }
        try successResult(of: producing)
        jobs.finish()
        try successResult(of: worker)
    }

    @Test("Workers: a job that fails is handled in the worker's body, which continues")
    func failingJobs() throws {
        let log = eventLog
        @Sendable func perform(_ job: Job) -> Deferred<Void> { job.work }
        let jobs = DeferredQueue<Job>()
        let worker = jobs.run { job in
            perform(job).fail { error in log.write("\(job.name): \(error)") }
        }
        try jobs.put(Job(name: "first", work: .rejected(Refused())))
        try jobs.put(Job(name: "second", work: .resolved()))
        jobs.finish()
        try successResult(of: worker)
        #expect(eventLog.all == ["first: refused"])
    }

    @Test("Workers: a worker that stops at the first failure, and its producer with it")
    func stopping() throws {
        @Sendable func perform(_ job: Job) -> Deferred<Void> { job.work }
        let jobs = DeferredQueue<Job>(size: 1)
        let worker = jobs.run(stopsOnFailure: true) { job in perform(job) }
        let work = Deferred<Void>()
        let producing = DeferredList((1...4).map { jobs.send(Job(name: "\($0)", work: work)) }).values()
        let all = gather(producing, worker, cancelsRemaining: true)
        #expect(jobs.sendingCount == 2)
        work.reject(Refused())
        #expect(try failureResult(of: all) is Refused)
        #expect(try failureResult(of: producing) is CancellationError)
        #expect(jobs.sendingCount == 0)
    }

    /// A count that takes time to read and to write.
    private final class Counter: Sendable {
        let count = SpinLocked(0)
        let dispatcher = ManualDispatcher()
        func read() -> Deferred<Int> {
            Deferred.resolved().map(on: dispatcher) { [count] in count.withLock { $0 } }
        }
        func write(_ new: Int) -> Deferred<Void> {
            Deferred.resolved().map(on: dispatcher) { [count] in count.withLock { $0 = new } }
        }
    }

    @Test("Workers: a lock for one at a time")
    func locked() throws {
        let counter = Counter()
        let lock = DeferredLock()

        func increment() -> Deferred<Void> {
            lock.run { counter.read().then { count in counter.write(count + 1) } }
        }

        let increments = (0..<3).map { _ in increment() }
        counter.dispatcher.run()
        for increment in increments { try successResult(of: increment) }
        #expect(counter.count.withLock { $0 } == 3)
    }

    @Test("Workers: a semaphore for so many at a time")
    func limited() throws {
        let (eventLog, page) = (eventLog, Deferred<String>())
        @Sendable func fetchPage(_ address: String) -> Deferred<String> {
            eventLog.add(address)
            return page
        }
        let addresses = ["a", "b", "c"]
        let connections = DeferredSemaphore(2)
        let pages = addresses.map { address in
            connections.run { fetchPage(address) }
        }
        #expect(eventLog.all == ["a", "b"])
        page.resolve("a page")
        #expect(eventLog.all == addresses)
        for page in pages { #expect(try successResult(of: page) == "a page") }
    }

    @Test("Workers: callers that ask for the same share one request")
    func shared() throws {
        let requests = DeferredQueue<Deferred<String>>()
        @Sendable func fetchPage(at address: String) -> Deferred<String> {
            let request = Deferred<String>()
            try? requests.put(request)
            return request
        }
        let pages = DeferredCache<String, String>(keepingFor: .seconds(60))

        func page(at address: String) -> Deferred<String> {
            pages.value(for: address) { fetchPage(at: address) }
        }
        let (first, second) = (page(at: "/index"), page(at: "/index"))
        let request = try successResult(of: requests.get())
        first.cancel()
        request.resolve("a page")
        #expect(try successResult(of: second) == "a page")
        #expect(requests.count == 0)
    }

    @Test("Workers: asynchronous jobs")
    func asynchronous() async throws {
        let log = eventLog
        let jobs = DeferredQueue<String>()
        let worker = jobs.asyncRun { text in
            log.write(try await text.shouted())
        }
        try jobs.put("job")
        jobs.finish()
        try await worker.value
        #expect(eventLog.all == ["JOB"])
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
