import Deferred
import DeferredTesting
import TestSupport

#if INTERLEAVING
import CInterleaving
#endif

/// Runs a program on the library, and keeps its log.
///
/// Callbacks refer to positions by number. Nothing but the table retains their handles.
///
/// Sound as `@unchecked Sendable`: the threads of a program take turns.
final class Run: @unchecked Sendable {
    /// Two of each kind of object.
    static let objects = 1...2

    var log = RunLog()
    /// Lets another thread of the program go on.
    var pass: () -> Void = {}

    private var positions: [Int: Deferred<Int>] = [:]
    /// Whether the list of a position is decided, and with what: for positions whose list is not known to be.
    private var decisions: [Int: (isSettled: () -> Bool, values: () throws -> [Int])] = [:]
    private var resolvers: [Int: Deferred<Int>.Resolver] = [:]
    /// Those that cancellers have kept.
    private var kept: [Int: Deferred<Int>.Resolver] = [:]
    #if INTERLEAVING
    private var tasks: [Int: AwaitProbe] = [:]
    #else
    private var tasks: [Int: Task<Void, Never>] = [:]
    #endif
    private var pending: [Int] = []
    private var pauses: [Int: Int] = [:]
    private var nextNumber = 100
    private var stepCount = 0
    private var isClosing = false
    private var used: Set<Int> = []
    private let closures = LeakTracker()

    private let stored = QueueingDispatcher()
    private let clock = ManualClock()
    private let executor = StoredJobs()
    /// One that nothing else retains, until the program releases it.
    private var releasedDispatcher: QueueingDispatcher? = QueueingDispatcher()
    private let semaphores: [DeferredSemaphore]
    private let queues: [DeferredQueue<Int>]
    private let caches: [DeferredCache<Int, Int>]
    private let latests: [DeferredLatest]

    /// - Parameter hasObjects: Whether the program uses semaphores, queues, caches or latest calls.
    private init(hasObjects: Bool) {
        let (clock, objects) = (clock, Self.objects.prefix(hasObjects ? 2 : 0))
        semaphores = objects.map { _ in DeferredSemaphore(1) }
        queues = objects.map { _ in DeferredQueue<Int>() }
        caches = objects.map { _ in DeferredCache(timer: clock) }
        latests = objects.map { _ in DeferredLatest(timer: clock) }
    }

    // MARK: The course of a run

    /// Runs a program of one thread, or one whose threads take the turns that `seed` decides.
    static func run(_ program: UserProgram, seed: UInt64 = 0) -> Run {
        let run = Run(hasObjects: true)
        let turns = program.threads.isEmpty ? nil : Turns(program.threads.count, seed: seed)
        run.run(program, pass: turns?.pass ?? {}) { turns?.run($0) }
        run.close()
        return run
    }

    /// Performs the steps of a program, and then those of its threads, each in a closure that is passed to `inTurns`.
    private func run(_ program: UserProgram, pass: @escaping () -> Void, _ inTurns: ([() -> Void]) -> Void) {
        for step in program.steps { outer(step) }
        if program.threads.isEmpty { return }
        self.pass = pass
        isShared = true
        inTurns(program.threads.map { steps in { [self] in for step in steps { outer(step) } } })
        self.pass = {}
    }

    #if INTERLEAVING
    /// Runs a program whose threads the scheduler lets go on, and returns how that ended.
    static func scheduled(_ program: UserProgram, _ inTurns: ([() -> Void]) -> Int) -> (run: Run, status: Int)
    {
        let run = Run(hasObjects: program.hasObjects)
        var status = IL_ENDED
        run.run(program, pass: { il_point(nil, IL_YIELD) }) { status = inTurns($0) }
        if status == IL_ENDED {
            run.add(.quiet)
            run.seeAll()
            let hasTimers = run.log.events.contains(where: run.hasTimer) || run.clock.scheduled.isEmpty
            run.close()
            if !hasTimers { run.remains.append("a time limit that is still set") }
        }
        return (run, status)
    }
    #endif

    /// Whether that is a position that waits, and has a time limit or a delay.
    private func hasTimer(_ event: RunLog.Event) -> Bool {
        guard case .made(let made) = event else { return false }
        switch made.kind {
        case .timeout: return positions[made.id].map { !$0.isSettled } ?? true
        case .retry, .latest, .cached: return true
        default: return false
        }
    }

    /// Performs a step of the program, which no callback encloses.
    func outer(_ step: Step) {
        pass()
        reporting { asUser(isClosure: false) { perform(step) } }
    }

    /// Ends the program: runs all that waits, releases what could complete anything, then everything.
    func close() {
        add(.closing)
        isClosing = true
        reporting {
            for (id, count) in pauses { for _ in 0..<max(0, count) { positions[id]?.unpause() } }
            for queue in queues { queue.finish() }
            dropDispatcher()
            runAll()
        }
        reporting {
            var isDone = false
            while !isDone {
                for id in tasks.keys.sorted() { perform(.cancelTask(id)) }
                // Two bodies that wait for each other's permits are their author's.
                for semaphore in semaphores { semaphore.rejectWaiting(with: Failure(number: number())) }
                let sources = positions.keys.filter(isCompletable.contains).sorted()
                for id in sources { drop(id) }
                let resolvers = takeResolvers()
                isDone = sources.isEmpty && resolvers.isEmpty
                withExtendedLifetime(consume resolvers) {}
                runAll()
            }
        }
        add(.closed)
        reporting {
            while !positions.isEmpty || !resolvers.isEmpty || !kept.isEmpty {
                while let id = positions.keys.min() { drop(id) }
                withExtendedLifetime(takeResolvers()) {}
                runAll()
            }
        }
        for queue in queues { for element in queue.removeAll() { add(.left(element)) } }
        let left = [
            "closures": closures.alive, "timers": clock.scheduled.count,
            "permits": semaphores.map { 1 - $0.availableCount }.reduce(0, +),
            "requests of caches": caches.map(\.inProgressCount).reduce(0, +),
        ]
        remains = left.filter { $0.value != 0 }.map { "\($0.value) \($0.key)" }
    }

    /// Their release runs callbacks, which use the table.
    private func takeResolvers() -> [Deferred<Int>.Resolver] {
        let taken = (resolvers.keys.sorted().map { resolvers[$0]! }) + kept.keys.sorted().map { kept[$0]! }
        let before = (resolvers, kept)
        (resolvers, kept) = ([:], [:])
        withExtendedLifetime(before) {}
        return taken
    }

    private func runAll() {
        var isIdle = false
        while !isIdle {
            isIdle = !executor.runNext() && !stored.runNext() && !clock.advanceToNext()
        }
    }

    /// What is left at the end: closures that the library retains, permits that are taken, requests, timers.
    private(set) var remains: [String] = []
    private var isCompletable: Set<Int> = []
    /// Whether one thread may release what another uses.
    private var isShared = false

    private func reporting(_ body: () -> Void) {
        #if INTERLEAVING
        // A handler for a scope is bound in the thread of the system, which all threads of the run share.
        Self.report = { [self] in add(.reported(Report($0))) }
        body()
        #else
        DeferredDiagnostics.withHandler({ [self] in add(.reported(Report($0))) }, body)
        #endif
        if runningCount == 0 { add(.quiet) }
    }

    #if INTERLEAVING
    /// What is called with each diagnostic.
    nonisolated(unsafe) static var report: (DeferredDiagnostic) -> Void = { _ in }
    private var thread: UInt { il_thread() }
    #else
    private let thread: UInt = 0
    #endif
    /// The steps and closures that run, and the closures on each thread.
    private var runningCount = 0
    private var closuresOf: [UInt: Int] = [:]

    private func asUser(isClosure: Bool = true, _ body: () -> Void) {
        runningCount += 1
        if isClosure { closuresOf[thread, default: 0] += 1 }
        body()
        runningCount -= 1
        if isClosure { closuresOf[thread]! -= 1 }
    }

    /// Adds an event, after those of what is seen to be settled since the last.
    private func add(_ event: RunLog.Event) {
        let decided = unscheduled {
            let decided = decisions.filter { $0.value.isSettled() }.sorted { $0.key < $1.key }
            for (id, _) in decided {
                decisions[id] = nil
                log.add(.decided(id))
            }
            pending.removeAll { id in
                guard let position = positions[id], !position.isSettled else {
                    if positions[id] != nil { log.add(.settled(id)) }
                    return true
                }
                return false
            }
            log.add(event)
            return decided
        }
        for (id, decision) in decided {
            // Another thread may act here, as reading a failure takes a lock.
            let result = Result(catching: decision.values)
            if case .failure(let error) = result { log.add(.decidedWith(id, Outcome(error))) }
            guard case .success(let values) = result else { continue }
            log.add(.decidedWith(id, .value(0)))
            for value in values { log.add(.received(value)) }
        }
    }

    /// Looks at Deferreds without letting another thread go on.
    private func unscheduled<T>(_ look: () -> T) -> T {
        #if INTERLEAVING
        il_unscheduled(true)
        defer { il_unscheduled(false) }
        #endif
        return look()
    }

    /// Adds what has become of each position.
    private func seeAll() {
        for (id, position) in positions.sorted(by: { $0.key < $1.key }) where position.isSettled {
            position.finally { [self] in add(.seen(id, Outcome($0))) }
        }
    }

    private func number() -> Int {
        nextNumber += 1
        return nextNumber
    }

    // MARK: Steps

    private func perform(_ steps: [Step]) {
        for step in steps {
            perform(step)
            pass()
        }
    }

    private func perform(_ step: Step) {
        // A worker whose job puts an element into its queue would never end.
        stepCount += 1
        guard stepCount < 300, step.id.map({ used.insert($0).inserted }) ?? true else { return }
        switch step {
        case .source(let id, let completion, let script): source(id, completion, script)
        case .settled(let id, let fails):
            let number = number()
            make(Made(id: id, kind: .settled)) {
                fails
                    ? .rejected(Failure(number: number), line: UInt(id))
                    : .resolved(number, onUndelivered: { [self] in add(.returned($0)) }, line: UInt(id))
            }
            if !fails { add(.returnable(number)) }
            add(.completed(id, fails ? .failure(number) : .value(number), accepted: true))
        case .link(let id, let target, let form, let place, let script):
            with(target) { upstream in
                make(Made(id: id, kind: .link(form, place), inputs: [target])) {
                    attach(id, to: upstream, form, place, script)
                }
            }
        case .shielded(let id, let target):
            with(target) { upstream in
                make(Made(id: id, kind: .shielded, inputs: [target])) { upstream.shielded(line: UInt(id)) }
            }
        case .timeout(let id, let target):
            with(target) { upstream in
                make(Made(id: id, kind: .timeout, inputs: [target])) {
                    upstream.timeout(.seconds(1), timer: clock, line: UInt(id))
                }
            }
        case .list(let id, let inputs, let rule, let consumes, let cancels):
            let inputs = inputs.filter { positions[$0] != nil }
            let kind = Made.Kind.list(rule, consumesErrors: consumes, cancelsRemaining: cancels)
            make(Made(id: id, kind: kind, inputs: inputs)) {
                let list = DeferredList(
                    inputs.map { positions[$0]! }, consumesErrors: consumes, cancelsRemaining: cancels)
                return outcome(of: list, rule, id)
            }
        case .limited(let id, let scripts, let limit, let rule):
            make(Made(id: id, kind: .limited(limit))) {
                let token = closures.begin()
                let list = DeferredList(
                    scripts.indices, limit: limit,
                    { [self] part in
                        token.use()
                        return Deferred(following: { try begin(Call(id: id, part: part), scripts[part]) })
                    }, line: UInt(id))
                return outcome(of: list, rule, id)
            }
        case .retry(let id, let scripts, let delayed):
            let (token, attempts) = (closures.begin(), SharedLog<Int>())
            make(Made(id: id, kind: .retry)) {
                Deferred.retry(
                    attempts: scripts.count, delay: delayed ? .constant(.seconds(1)) : .none, timer: clock,
                    { [self] () -> Deferred<Int> in
                        token.use()
                        let part = attempts.all.count
                        attempts.add(part)
                        return try begin(Call(id: id, part: part), scripts[min(part, scripts.count - 1)])
                    }, line: UInt(id))
            }
        case .locked(let id, let lock, let script):
            let token = closures.begin()
            make(Made(id: id, kind: .locked(lock))) {
                semaphores[lock - 1].run(
                    { [self] in
                        token.use()
                        return try begin(Call(id: id), script)
                    }, line: UInt(id))
            }
        case .latest(let id, let latest, let script):
            let token = closures.begin()
            make(Made(id: id, kind: .latest(latest))) {
                latests[latest - 1].run(
                    { [self] in
                        token.use()
                        return try begin(Call(id: id), script)
                    }, line: UInt(id))
            }
        case .cached(let id, let cache, let key, let script):
            make(Made(id: id, kind: .cached(cache: cache, key: key))) {
                caches[cache - 1].value(for: key, { try begin(Call(id: id), script) }, line: UInt(id))
            }
        case .get(let id, let queue):
            make(Made(id: id, kind: .get(queue))) { queues[queue - 1].get(line: UInt(id)) }
        case .worker(let id, let queue, let script):
            let (token, jobs) = (closures.begin(), SharedLog<Int>())
            make(Made(id: id, kind: .worker(queue))) {
                queues[queue - 1].run(
                    { [self] element in
                        token.use()
                        jobs.add(element)
                        add(.received(element))
                        return try begin(Call(id: id, part: jobs.all.count), script)
                    }, line: UInt(id)
                ).map { 0 }
            }
        case .put(_, let queue):
            let element = number()
            add(.returnable(element))
            if (try? queues[queue - 1].put(element)) == nil { add(.left(element)) }
        case .finish(let queue): queues[queue - 1].finish()
        case .finally(let id, let target, let steps): finally(id, target, steps)
        case .follow(let target, let other):
            with(target) { deferred in
                with(other) { followed in
                    guard isCompletable.contains(target) || resolvers[target] != nil else { return }
                    add(.followed(target, other: other))
                    if let resolver = resolvers[target] {
                        resolver.follow(followed)
                    } else {
                        deferred.follow(followed)
                    }
                }
            }
        case .complete(let id, let target, let fails): complete(id, target, fails)
        case .completeKept(let target):
            guard let resolver = kept[target] else { return }
            let number = number()
            let isAccepted = resolver.resolve(number, line: UInt(target))
            add(.completed(target, .value(number), accepted: isAccepted))
        case .cancel(let target): with(target) { position in cancelling([target]) { position.cancel() } }
        case .cancelAll(let targets, let byBag):
            let targets = targets.filter { positions[$0] != nil }
            let all = targets.map { positions[$0]! }
            cancelling(targets) {
                if byBag {
                    let bag = CancelBag()
                    for position in all { position.store(in: bag) }
                    bag.cancelAll()
                } else {
                    DeferredList(all).cancel()
                }
            }
        case .pause(let target):
            guard !isClosing else { return }
            with(target) {
                $0.pause()
                pauses[target, default: 0] += 1
                add(.paused(target))
            }
        case .unpause(let target):
            with(target) {
                add(.unpaused(target))
                pauses[target] = max(0, (pauses[target] ?? 0) - 1)
                $0.unpause()
            }
        case .drop(let target): drop(target)
        case .dropResolver(let target):
            guard let resolver = resolvers.removeValue(forKey: target) else { return }
            add(.resolverDropped(target))
            if isShared { pass() }
            _ = consume resolver
        case .dropDispatcher: dropDispatcher()
        case .look(let target): with(target) { look(target, $0) }
        case .wait(let target): with(target) { wait(target, $0) }
        case .awaiting(let id, let target): with(target) { startTask(id, awaiting: target, $0) }
        case .cancelTask(let id):
            guard let task = tasks[id] else { return }
            cancelling([id]) { task.cancel() }
        case .runJobs: while executor.runNext() {}
        case .runWork: _ = stored.runNext()
        case .dropWork: _ = stored.dropNext()
        case .advance: clock.advance(by: .seconds(1))
        }
    }

    private func with(_ id: Int, _ body: (Deferred<Int>) -> Void) {
        guard let position = positions[id] else { return }
        if isShared { pass() }
        withExtendedLifetime(position) { body(position) }
    }

    private func make(_ made: Made, _ body: () -> Deferred<Int>) {
        add(.made(made))
        let position = body()
        let before = positions.updateValue(position, forKey: made.id)
        _ = consume before
        pending.append(made.id)
        add(.attached(made.id))
    }

    /// Not inlined: the optimiser would release the dispatcher before the property is empty.
    @inline(never)
    private func dropDispatcher() {
        let dispatcher = releasedDispatcher.take()
        _ = consume dispatcher
    }

    private func drop(_ id: Int) {
        guard let position = positions.removeValue(forKey: id) else { return }
        if position.isSettled { log.add(.settled(id)) }
        decisions[id] = nil
        add(.dropped(id))
        if isShared { pass() }
        _ = consume position
    }

    private func cancelling(_ targets: [Int], _ body: () -> Void) {
        let number = number()
        add(.cancelBegan(number, targets))
        body()
        add(.cancelEnded(number))
    }

    private func look(_ id: Int, _ position: Deferred<Int>) {
        let outcome = position.currentResult.map { Outcome($0) }
        if case .value(let value)? = outcome { add(.received(value)) }
        add(.looked(id, outcome))
    }

    /// Waits for the shortest time that there is.
    private func wait(_ id: Int, _ position: Deferred<Int>) {
        let isInside = closuresOf[thread] ?? 0 != 0
        do {
            let value = try position.wait(timeout: .nanoseconds(1))
            add(.received(value))
            add(.waited(id, .value(value), isInside: isInside))
        } catch {
            add(.waited(id, Outcome(error), isInside: isInside))
        }
    }

    private func source(_ id: Int, _ completion: Completion, _ script: Script?) {
        let canceller: (@Sendable (Deferred<Int>.Resolver) -> Void)? = script.map { script in
            let token = closures.begin()
            return { [self] resolver in
                token.use()
                runCanceller(id, script, resolver)
            }
        }
        make(Made(id: id, kind: .source(completion))) {
            switch (completion, canceller) {
            case (.handle, nil): return Deferred(line: UInt(id))
            case (.handle, let canceller?): return Deferred(canceller: canceller, line: UInt(id))
            case (.resolver, let canceller):
                let (deferred, resolver) = Deferred<Int>.withResolver(canceller: canceller, line: UInt(id))
                resolvers[id] = resolver
                return deferred
            }
        }
        if completion == .handle { isCompletable.insert(id) }
    }

    private func runCanceller(_ id: Int, _ script: Script, _ resolver: Deferred<Int>.Resolver) {
        let call = Call(id: id, role: .canceller)
        add(.began(call, nil))
        asUser {
            perform(script.steps)
            pass()
        }
        let number = number()
        switch script.answer {
        case .value:
            let isAccepted = resolver.resolve(
                number, onUndelivered: { [self] in add(.returned($0)) }, line: UInt(id))
            add(.returnable(number))
            add(.completed(id, .value(number), accepted: isAccepted))
            add(.ended(call, .value(number)))
        case .error:
            let isAccepted = resolver.reject(Failure(number: number), line: UInt(id))
            add(.completed(id, .failure(number), accepted: isAccepted))
            add(.ended(call, .error(number)))
        case .keep:
            kept[id] = resolver
            add(.ended(call, .nothing))
        case .echo, .deferred: add(.ended(call, .nothing))
        }
    }

    /// One in three has a closure for values that nobody received.
    private func complete(_ id: Int, _ target: Int, _ fails: Bool) {
        let number = number()
        let result: Result<Int, any Error> = fails ? .failure(Failure(number: number)) : .success(number)
        let giveBack: (@Sendable (Int) -> Void)? =
            id % 3 == 0 ? { @Sendable [self] in add(.returned($0)) } : nil
        var isAccepted = false
        if let resolver = resolvers[target] {
            isAccepted =
                switch result {
                case .success(let value): resolver.resolve(value, onUndelivered: giveBack, line: UInt(target))
                case .failure(let error): resolver.reject(error, line: UInt(target))
                }
        } else if isCompletable.contains(target), let deferred = positions[target] {
            isAccepted =
                switch result {
                case .success(let value): deferred.resolve(value, onUndelivered: giveBack, line: UInt(target))
                case .failure(let error): deferred.reject(error, line: UInt(target))
                }
        } else {
            return
        }
        if giveBack != nil, !fails { add(.returnable(number)) }
        add(.completed(target, Outcome(result), accepted: isAccepted))
    }

    private func finally(_ id: Int, _ target: Int, _ steps: [Step]) {
        with(target) { position in
            let token = closures.begin()
            add(.finalizerAdded(id, of: target, wasPending: !position.isSettled))
            position.finally { [self] in
                token.use()
                add(.finalizerRan(id, Outcome($0)))
                asUser { perform(steps) }
            }
            add(.finalizerAttached(id))
        }
    }

    private func startTask(_ id: Int, awaiting target: Int, _ position: Deferred<Int>) {
        add(.made(Made(id: id, kind: .task, inputs: [target])))
        let resumed = { @Sendable [self] (outcome: Outcome) in
            if case .value(let value) = outcome { add(.received(value)) }
            add(.awaited(id, outcome))
        }
        #if INTERLEAVING
        let probe = AwaitProbe()
        tasks[id] = probe
        executor.enqueue { [self] in
            add(.began(Call(id: id), nil))
            probe.start(position) { resumed($0 ? Outcome(probe.outcome(as: Int.self)) : .cancelled) }
        }
        #else
        tasks[id] = Task(executorPreference: executor) { [self] in
            add(.began(Call(id: id), nil))
            resumed(Outcome(await position.result))
        }
        #endif
    }

    private func outcome(of list: DeferredList<Int>, _ rule: Rule, _ id: Int) -> Deferred<Int> {
        // A list that is decided with a value has received it (V1), though its position may be cancelled before it reads it.
        func reading<T>(
            _ decision: Deferred<T>, _ values: @escaping @Sendable (T) throws -> [Int]
        ) -> Deferred<Int> {
            decisions[id] = (
                { decision.isSettled },
                { try values(decision.currentResult!.get()) }
            )
            return decision.map(
                { [self] in
                    for value in try values($0) { add(.received(value)) }
                    return number()
                }, line: UInt(id))
        }
        switch rule {
        case .results: return reading(list.results(line: UInt(id))) { $0.compactMap { try? $0.get() } }
        case .values: return reading(list.values(line: UInt(id))) { $0 }
        case .first: return reading(list.first(line: UInt(id))) { [$0.value] }
        case .firstSettled: return reading(list.firstSettled(line: UInt(id))) { [try $0.result.get()] }
        }
    }

    // MARK: Closures

    /// Runs a script that has no input, for what takes a Deferred.
    private func begin(_ call: Call, _ script: Script) throws -> Deferred<Int> {
        switch run(call, script, nil) {
        case .deferred(let id): return positions[id]!
        case .value(let number): return .resolved(number, line: UInt(call.id))
        case .error(let number): throw Failure(number: number)
        case .rethrown, .nothing: return .resolved(0)
        }
    }

    private func run(_ call: Call, _ script: Script, _ input: Outcome?) -> Ended {
        if case .value(let value)? = input { add(.received(value)) }
        add(.began(call, input))
        asUser {
            perform(script.steps)
            pass()
        }
        let ended = answer(script.answer, input)
        add(.ended(call, ended))
        return ended
    }

    private func answer(_ answer: Answer, _ input: Outcome?) -> Ended {
        switch (answer, input) {
        case (.deferred(let id), _) where positions[id] != nil: .deferred(id)
        case (.error, _): .error(number())
        case (.echo, let input?), (.deferred, let input?):
            if case .value = input { .value(number()) } else { .rethrown(input) }
        default: .value(number())
        }
    }

    private func attach(
        _ id: Int, to upstream: Deferred<Int>, _ form: Form, _ place: Place, _ script: Script
    ) -> Deferred<Int> {
        let token = closures.begin()
        let line = UInt(id)
        let on: (any Dispatcher)? =
            switch place {
            case .here: nil
            case .inline: InlineDispatcher()
            case .stored: stored
            case .dropping: DroppingDispatcher()
            case .released: releasedDispatcher
            }
        let plain = { @Sendable [self] (input: Result<Int, any Error>) throws -> Int in
            token.use()
            switch run(Call(id: id), script, Outcome(input)) {
            case .value(let number): return number
            case .error(let number): throw Failure(number: number)
            case .rethrown, .deferred, .nothing: return try input.get()
            }
        }
        let nested = { @Sendable [self] (input: Result<Int, any Error>) throws -> Deferred<Int> in
            token.use()
            switch run(Call(id: id), script, Outcome(input)) {
            case .deferred(let id): return positions[id]!
            case .value(let number): return .resolved(number, line: line)
            case .error(let number): throw Failure(number: number)
            case .rethrown, .nothing: return .resolved(try input.get())
            }
        }
        guard case .deferred = script.answer else {
            return switch form {
            case .value: upstream.map(on: on, { try plain(.success($0)) }, line: line)
            case .error: upstream.recover(on: on, { try plain(.failure($0)) }, line: line)
            case .either: upstream.mapResult(on: on, plain, line: line)
            case .pair:
                upstream.map(
                    on: on, { try plain(.success($0)) }, recover: { try plain(.failure($0)) }, line: line)
            }
        }
        return switch form {
        case .value: upstream.then(on: on, { try nested(.success($0)) }, line: line)
        case .error: upstream.orElse(on: on, { try nested(.failure($0)) }, line: line)
        case .either: upstream.thenResult(on: on, nested, line: line)
        case .pair:
            upstream.then(
                on: on, { try nested(.success($0)) }, orElse: { try nested(.failure($0)) }, line: line)
        }
    }
}

// MARK: Outcomes and reports

struct Failure: Error { let number: Int }

extension Outcome {
    init(_ result: Result<Int, any Error>) {
        switch result {
        case .success(let number): self = .value(number)
        case .failure(let error): self.init(error)
        }
    }

    init(_ error: any Error) {
        self =
            switch error {
            case let error as Failure: .failure(error.number)
            case is CancellationError: .cancelled
            case DeferredError.abandoned: .abandoned
            case DeferredError.cycle: .cycle
            case DeferredError.timedOut: .timedOut
            case DeferredError.finished: .finished
            case DeferredError.empty: .empty
            case DeferredError.wouldDeadlock: .wouldDeadlock
            default: .other("\(error)")
            }
    }
}

extension Report {
    fileprivate init(_ diagnostic: DeferredDiagnostic) {
        self =
            switch diagnostic {
            case .unhandledFailure(let error, let made): .unhandled(Outcome(error), made: made.line)
            case .alreadySettled(let made, _, _): .alreadySettled(made: made.line)
            case .notCompletable(let made, _): .notCompletable(made: made.line)
            case .unbalancedUnpause(let made, _): .unbalancedUnpause(made: made.line)
            }
    }
}

// MARK: Places

/// Stores the jobs of Tasks until the program runs them.
private final class StoredJobs: @unchecked Sendable {
    private var jobs: [() -> Void] = []

    func enqueue(_ job: @escaping () -> Void) { jobs.append(job) }

    func runNext() -> Bool {
        guard !jobs.isEmpty else { return false }
        let job = jobs.removeFirst()
        job()
        return true
    }
}

#if !INTERLEAVING
extension StoredJobs: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        enqueue { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
#endif
