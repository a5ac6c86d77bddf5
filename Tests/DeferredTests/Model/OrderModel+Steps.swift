/// What a program's steps do, and what its user sees: as in ``Run``, with the same numbers for values and errors.
extension OrderModel {
    final class Handle {
        let position: Position
        private let completes: Bool
        private let model: OrderModel

        init(_ model: OrderModel, _ position: Position, completes: Bool = false) {
            (self.model, self.position, self.completes) = (model, position, completes)
            position.handles += 1
            if completes { position.completers += 1 }
        }

        deinit {
            position.handles -= 1
            if completes { position.completers -= 1 }
            model.handleWasReleased(position)
        }
    }

    /// Completes a position, and is no handle of it.
    final class Resolver {
        let position: Position
        private let model: OrderModel

        init(_ model: OrderModel, _ position: Position) {
            (self.model, self.position) = (model, position)
            position.completers += 1
        }

        deinit {
            position.completers -= 1
            model.handleWasReleased(position)
        }
    }

    /// What the program has made so far.
    struct Table {
        var handles: [Int: Handle] = [:]
        var resolvers: [Int: Resolver] = [:]
        var completable: Set<Int> = []
        var used: Set<Int> = []
        var finalizers: [Int: [Step]] = [:]
        var nextNumber = 100
        var stepCount = 0
    }

    /// Returns what a user sees of a program, step by step; up to where the contract leaves open what comes next.
    static func events(of program: UserProgram) -> (steps: [[RunLog.Event]], model: OrderModel) {
        let model = OrderModel()
        var steps: [[RunLog.Event]] = []
        for step in program.steps {
            model.events = []
            model.perform(step)
            if model.leftOpen != nil { break }
            steps.append(model.events)
        }
        return (steps, model)
    }

    func number() -> Int {
        table.nextNumber += 1
        return table.nextNumber
    }

    func run(_ call: Call, _ script: Script, _ input: Outcome) -> Ended {
        events.append(.began(call, input))
        for step in script.steps { perform(step) }
        let end: Ended =
            switch (script.answer, input) {
            case (.deferred(let id), _) where table.handles[id] != nil: .deferred(id)
            case (.error, _): .error(number())
            case (.echo, .value), (.deferred, .value), (.value, _), (.keep, _): .value(number())
            case (.echo, _), (.deferred, _): .rethrown(input)
            }
        events.append(.ended(call, end))
        return end
    }

    func runFinalizer(_ id: Int, _ outcome: Outcome) {
        events.append(.finalizerRan(id, outcome))
        for step in table.finalizers[id]! { perform(step) }
    }

    /// The value of a list is a new number, and the failure of the first that was settled is thrown.
    func read(_ outcome: Outcome, _ rule: Rule) -> Outcome {
        if case .value = outcome { return .value(number()) }
        return outcome == .other("empty") ? .empty : outcome
    }

    func perform(_ step: Step) {
        table.stepCount += 1
        guard table.stepCount < 300, step.id.map({ table.used.insert($0).inserted }) ?? true else { return }
        switch step {
        case .source(let id, let completion, _):
            let position = Position(isSource: true)
            if completion == .resolver { table.resolvers[id] = Resolver(self, position) }
            if completion == .handle { table.completable.insert(id) }
            keep(id, position, completes: completion == .handle)
        case .settled(let id, let fails):
            let (number, position) = (number(), Position())
            inLine { settle(position, fails ? .failure(number) : .value(number), $0) }
            keep(id, position)
            events.append(.completed(id, position.outcome!, accepted: true))
        case .link(let id, let target, let form, let place, let script):
            with(target) { attach(id, to: $0) { .closure($0, form, place, script, id: id) } }
        case .shielded(let id, let target): with(target) { attach(id, to: $0) { .passing(to: $0) } }
        case .list(let id, let inputs, let rule, _, _):
            let list = list(inputs.compactMap { table.handles[$0]?.position }, rule)
            attach(id, to: list) { .reading($0, rule) }
        case .finally(let id, let target, let steps):
            table.finalizers[id] = steps
            with(target) { addFinalizer(id, $0) }
        case .follow(let target, let other):
            with(target) { position in
                with(other) { if isCompletable(target) { follow(position, $0) } }
            }
        case .complete(_, let target, let fails): complete(target, fails)
        case .pause(let target): with(target) { $0.pauses += 1 }
        case .unpause(let target):
            with(target) { position in
                position.pauses = max(0, position.pauses - 1)
                if position.pauses == 0 { resume(position) }
            }
        case .drop(let id):
            let handle = table.handles.removeValue(forKey: id)
            _ = consume handle
        case .dropResolver(let id):
            let resolver = table.resolvers.removeValue(forKey: id)
            _ = consume resolver
        case .look(let id): with(id) { events.append(.looked(id, $0.outcome)) }
        case .runWork:
            if !works.isEmpty { inLine { perform(works.removeFirst(), $0) } }
        case .dropWork:
            if !works.isEmpty { inLine { settle(works.removeFirst().position, .abandoned, $0) } }
        default: leftOpen = "\(step) is no step of a program of this model"
        }
    }

    private func with(_ id: Int, _ body: (Position) -> Void) {
        guard let handle = table.handles[id] else { return }
        withExtendedLifetime(handle) { body(handle.position) }
    }

    private func keep(_ id: Int, _ position: Position, completes: Bool = false) {
        table.handles[id] = Handle(self, position, completes: completes)
    }

    private func attach(_ id: Int, to upstream: Position, _ kind: (Position) -> Consumer.Kind) {
        let position = Position()
        position.waitsFor = [upstream]
        attach(Consumer(kind(position)), to: upstream)
        keep(id, position)
    }

    private func isCompletable(_ id: Int) -> Bool {
        table.completable.contains(id) || table.resolvers[id] != nil
    }

    private func complete(_ id: Int, _ fails: Bool) {
        let number = number()
        func complete(_ position: Position) {
            let isFirst = position.outcome == nil
            let outcome = fails ? Outcome.failure(number) : .value(number)
            inLine { settle(position, outcome, $0) }
            events.append(.completed(id, outcome, accepted: isFirst))
        }
        if let resolver = table.resolvers[id] {
            withExtendedLifetime(resolver) { complete(resolver.position) }
        } else if table.completable.contains(id) {
            with(id, complete)
        }
    }
}
