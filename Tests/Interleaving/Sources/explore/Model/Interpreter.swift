/// Performs the actions of a program on a machine, and records the events.
///
/// It alone retains handles: a callback refers to handles by number, and retains none.
final class Interpreter<M: Machine> {
    let machine: M
    /// The callbacks of each Deferred that have run, in order; and whether two of one ran at the same time (F4).
    private(set) var consumersThatRan: [Int: [Int]] = [:]
    private(set) var hasOverlapped = false
    /// For each callback those that had run before it of the Deferred above its own (F4).
    private(set) var consumersAbove: [Int: [Int]] = [:]
    /// The Deferred to which a callback was attached.
    private var targets: [Int: Int] = [:]
    private var running: Set<Int> = []
    /// Whether one thread may release a handle that another uses.
    var sharesHandles = false
    private(set) var handles: [Int: M.Handle] = [:]
    private var resolvers: [Int: M.Trigger] = [:]
    private var awaiting: Set<Int> = []
    private var tasks: [Int: (await: () -> Void, cancel: () -> Void)] = [:]
    private(set) var events: [ModelEvent] = []
    /// Called with each event.
    var logged: (ModelEvent) -> Void = { _ in }
    /// Called when a callback of that Deferred, which runs in order, begins.
    var ordered: (_ target: Int, _ callback: Int) -> Void = { _, _ in }

    init(_ machine: M) { self.machine = machine }

    /// Releases all handles, resolvers and work.
    func releaseEverything() {
        tasks = [:]
        machine.dropDispatcher()
        // A release may run callbacks, which create handles.
        var hadWork = true
        while !handles.isEmpty || !resolvers.isEmpty || hadWork {
            for id in handles.keys.sorted() { dropHandle(id) }
            for id in resolvers.keys.sorted() { dropResolver(id) }
            hadWork = machine.dropWork()
        }
    }

    private func hold(_ handle: M.Handle, as id: Int) {
        // The one before is released when the table is up to date: another thread may have its turn meanwhile.
        let gone = handles.updateValue(handle, forKey: id)
        _ = consume gone
    }

    private func dropHandle(_ id: Int) {
        // Removed from the table first: the release may run callbacks, which use the table.
        let gone = handles.removeValue(forKey: id)
        if sharesHandles { machine.pass() }
        _ = consume gone
    }

    private func dropResolver(_ id: Int) {
        let gone = resolvers.removeValue(forKey: id)
        if sharesHandles { machine.pass() }
        _ = consume gone
    }

    private func log(_ event: ModelEvent) {
        events.append(event)
        logged(event)
    }

    func perform(_ actions: [ModelAction]) {
        for action in actions {
            machine.pass()
            perform(action)
        }
    }

    func perform(_ action: ModelAction) {
        switch action {
        case .source(let id, let kind, let canceller):
            let run = canceller.map { canceller in
                { [self] (resolver: M.Trigger) in runCanceller(id, canceller, resolver) }
            }
            switch kind {
            case .plain:
                handles[id] = machine.source(id, canceller: run)
            case .withResolver:
                (handles[id], resolvers[id]) = machine.sourceWithResolver(id, canceller: run)
            }

        case .settled(let id, let outcome):
            handles[id] = machine.settled(id, outcome)

        case .complete(let id, let target, let completer, let outcome):
            complete(id, target, completer, outcome)

        case .attach(let id, let target, let callback, let keep):
            attach(id, target, callback, keep)

        case .shielded(let id, let target):
            with(target) { handles[id] = machine.shielded(id, $0) }

        case .timeout(let id, let target):
            with(target) { if machine.isPlain($0) { handles[id] = machine.timeout(id, $0) } }

        case .finally(let id, let target, let actions):
            with(target) { handle in
                machine.finally(handle, id: id, acts: !actions.isEmpty) { [self] in
                    log(.finalizer(id, $0))
                    perform(actions)
                }
            }

        case .follow(let id, let target, let completer, let other):
            guard let other = handles[other], machine.isPlain(other) else { return }
            follow(id, target, completer, other)

        case .list(let id, let inputs, let rule, let options, let keep):
            let inputs = inputs.compactMap { handles[$0] }.filter { machine.isPlain($0) }
            withExtendedLifetime(inputs) {
                let list = machine.list(id, inputs, rule, options)
                if keep { handles[id] = list }
            }

        case .limitedList(let id, let inputs, let limit, let rule):
            handles[id] = machine.limitedList(id, inputs.count, limit, rule) { [self] index in
                if !running.insert(id).inserted { hasOverlapped = true }
                machine.pass()
                running.remove(id)
                guard let input = handles[inputs[index]], machine.isPlain(input) else { return nil }
                return input
            }

        case .cancelList(let inputs):
            let inputs = inputs.compactMap { handles[$0] }.filter { machine.isPlain($0) }
            withExtendedLifetime(inputs) { machine.cancelList(inputs) }

        case .cancel(let target): with(target) { machine.cancel($0) }
        case .pause(let target): with(target) { machine.pause($0) }
        case .unpause(let id, let target): with(target) { machine.unpause($0, at: id) }
        case .look(let target): with(target) { log(.looked(target, machine.look($0))) }
        case .wait(let id, let target): with(target) { log(.waited(id, machine.wait($0))) }
        case .copyResolver(let id, let target): resolvers[id] = resolvers[target]
        case .copy(let id, let target): with(target) { handles[id] = $0 }
        case .drop(let target): dropHandle(target)
        case .dropResolver(let target): dropResolver(target)
        case .runWork: _ = machine.runWork()
        case .dropWork: _ = machine.dropWork()
        case .dropDispatcher: machine.dropDispatcher()
        case .expire: machine.expire()
        case .task(let id, let target):
            with(target) {
                if machine.isPlain($0) { tasks[id] = machine.task($0) { [self] in log(.awaited(id, $0)) } }
            }
        case .await(let id):
            guard awaiting.insert(id).inserted else { return }
            machine.pass()
            tasks[id]?.await()
        case .cancelTask(let id): tasks[id]?.cancel()
        }
    }

    private func with(_ id: Int, _ body: (M.Handle) -> Void) {
        guard let handle = handles[id] else { return }
        if sharesHandles { machine.pass() }
        withExtendedLifetime(handle) { body(handle) }
    }

    private func complete(_ id: Int, _ target: Int, _ completer: Completer, _ outcome: ModelOutcome) {
        switch completer {
        case .handle:
            with(target) { handle in
                guard machine.isPlain(handle) else { return }
                let isFirst = machine.complete(handle, outcome, at: id)
                log(.completed(id, isFirst))
            }
        case .resolver:
            guard let resolver = resolvers[target] else { return }
            if sharesHandles { machine.pass() }
            withExtendedLifetime(resolver) {
                log(.isCancelled(id, machine.isCancelled(resolver)))
                machine.pass()
                let isFirst = machine.complete(resolver, outcome, at: id)
                log(.completed(id, isFirst))
            }
        }
    }

    private func follow(_ id: Int, _ target: Int, _ completer: Completer, _ other: M.Handle) {
        withExtendedLifetime(other) {
            switch completer {
            case .handle:
                with(target) { if machine.isPlain($0) { machine.follow($0, other, at: id) } }
            case .resolver:
                guard let resolver = resolvers[target] else { return }
                withExtendedLifetime(resolver) { machine.follow(resolver, other) }
            }
        }
    }

    private func runCanceller(_ id: Int, _ canceller: Canceller, _ resolver: M.Trigger) {
        log(.canceller(id))
        perform(canceller.actions)
        if let outcome = canceller.completes {
            machine.pass()
            let isFirst = machine.complete(resolver, outcome, at: id)
            log(.completed(id, isFirst))
        }
        if let number = canceller.keeps { resolvers[number] = resolver }
    }

    private func attach(_ id: Int, _ target: Int, _ callback: Callback, _ keep: Bool) {
        with(target) { handle in
            // `fail` returns the Deferred's own type, which for a list's is not a `Datum`.
            if !machine.isPlain(handle), callback.form == .fail || callback.form == .trap { return }
            targets[id] = target
            let body = { [self] (outcome: ModelOutcome) -> CallbackAnswer<M.Handle> in
                log(.ran(id, outcome))
                // A callback that a cancel has detached runs at once, in no order.
                let isInOrder = callback.dispatcher == nil && outcome != .failure(.cancelled)
                if isInOrder {
                    consumersThatRan[target, default: []].append(id)
                    if let above = targets[target] { consumersAbove[id] = consumersThatRan[above] }
                    ordered(target, id)
                    if !running.insert(target).inserted { hasOverlapped = true }
                }
                defer { if isInOrder { running.remove(target) } }
                if case .value = outcome { return run(callback.onValue, outcome, callback.isNested) }
                return run(callback.onFailure, outcome, callback.isNested)
            }
            let atEnd = { [self] in
                log(.released(id))
                perform(callback.atEnd)
            }
            let position = machine.attach(
                id, to: handle, callback, body, atEnd: callback.atEnd.isEmpty ? nil : atEnd)
            if keep { hold(position, as: id) }
        }
    }

    private func run(
        _ body: ScriptedBody, _ outcome: ModelOutcome, _ isNested: Bool
    ) -> CallbackAnswer<M.Handle> {
        perform(body.actions)
        machine.pass()
        switch body.answer {
        case .value(let number): return .outcome(.value(.number(number)))
        case .error(let number): return .outcome(.failure(.test(number)))
        case .handle(let id):
            if isNested, let handle = handles[id], machine.isPlain(handle) { return .handle(handle) }
            return .outcome(outcome)
        case .echo: return .outcome(outcome)
        }
    }
}
