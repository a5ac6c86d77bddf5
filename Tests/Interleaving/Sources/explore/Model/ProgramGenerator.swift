/// Creates random programs. The same seed creates the same program.
struct ProgramGenerator {
    private var random: SplitMix64
    private var nextID = 1
    /// The handles created so far, by the operations that they allow.
    private var all: [Int] = []
    private var sources: [Int] = []
    private var resolvers: [Int] = []
    /// Sources that are not to be paused. If the canceller of such a source completes it while it is paused
    /// and its handles have been released, so that it counts as unpaused, the cancel in progress still
    /// retains it: its consumers are notified when the cancel releases it, and not before the canceller's
    /// `resolve` returns. The rules leave that open.
    private var unpausable: Set<Int> = []

    init(seed: UInt64) { random = SplitMix64(seed) }

    static func program(seed: UInt64) -> ModelProgram {
        var generator = ProgramGenerator(seed: seed)
        return generator.program()
    }

    private mutating func program() -> ModelProgram {
        var program = ModelProgram()
        for _ in 0...below(4) { program.steps.append(source()) }
        for _ in 0..<(6 + below(24)) { program.steps.append(action(depth: 0)) }
        return program
    }

    // MARK: Chance

    private mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }
    private mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// Returns one of `ids`, more likely a late one, or a number that may exist later.
    private mutating func pick(_ ids: [Int]) -> Int {
        if ids.isEmpty || chance(6) { return max(1, nextID + below(6) - 3) }
        return chance(50) ? ids[max(0, ids.count - 1 - below(3))] : ids[below(ids.count)]
    }

    private mutating func any() -> Int { pick(all) }

    private mutating func newID() -> Int {
        defer { nextID += 1 }
        return nextID
    }

    private mutating func outcome() -> ModelOutcome {
        chance(60) ? .value(.number(below(90) + 10)) : .failure(.test(below(90) + 10))
    }

    // MARK: Actions

    private mutating func source() -> ModelAction {
        let id = newID()
        let kind = chance(70) ? SourceKind.plain : .withResolver
        var canceller: Canceller?
        if chance(50) {
            canceller = Canceller(actions: chance(20) ? [action(depth: 2)] : [])
            if chance(50) { canceller?.completes = outcome() }
            if chance(20) {
                canceller?.keeps = newID()
                resolvers.append(nextID - 1)
            }
            if kind == .withResolver { unpausable.insert(id) }
        }
        all.append(id)
        sources.append(id)
        if kind == .withResolver { resolvers.append(id) }
        return .source(id: id, kind, canceller)
    }

    private mutating func action(depth: Int) -> ModelAction {
        switch below(100) {
        case ..<5:
            return source()
        case ..<8:
            let id = newID()
            all.append(id)
            return .settled(id: id, outcome())
        case ..<24:
            return complete()
        case ..<50:
            return attach(depth: depth)
        case ..<54:
            let id = newID()
            let target = any()
            all.append(id)
            return .shielded(id: id, target)
        case ..<60:
            return finalizer(depth: depth)
        case ..<64:
            let (target, completer) = completionTarget()
            return .follow(id: newID(), target, through: completer, any())
        case ..<70:
            return list()
        case 70:
            return .cancelList(inputs())
        case ..<80:
            return .cancel(any())
        case ..<84:
            let target = any()
            return unpausable.contains(target) ? .look(target) : .pause(target)
        case ..<88:
            return .unpause(id: newID(), any())
        case 88:
            return .look(any())
        case 89 where chance(70):
            return .wait(id: newID(), any())
        case 89:
            let id = newID()
            let target = pick(resolvers)
            resolvers.append(id)
            return .copyResolver(id: id, target)
        case 90:
            let id = newID()
            let target = any()
            all.append(id)
            if unpausable.contains(target) { unpausable.insert(id) }
            return .copy(id: id, target)
        case ..<95:
            return .drop(any())
        case 95:
            return .dropResolver(pick(resolvers))
        case ..<99:
            return .runWork
        default:
            return .dropWork
        }
    }

    private mutating func finalizer(depth: Int) -> ModelAction {
        let target = any()
        let id = newID()
        return .finally(id: id, target, chance(40) ? actions(depth: depth, upTo: 2) : [])
    }

    private mutating func actions(depth: Int, upTo count: Int) -> [ModelAction] {
        guard depth < 2 else { return [] }
        return (0..<(1 + below(count))).map { _ in action(depth: depth + 1) }
    }

    private mutating func completionTarget() -> (Int, Completer) {
        if !resolvers.isEmpty && chance(40) { return (pick(resolvers), .resolver) }
        return (pick(sources), .handle)
    }

    private mutating func complete() -> ModelAction {
        let (target, completer) = completionTarget()
        return .complete(id: newID(), target, through: completer, outcome())
    }

    private mutating func attach(depth: Int) -> ModelAction {
        let target = any()
        let form = CallbackForm.allCases[below(CallbackForm.allCases.count)]
        var callback = Callback(form: form)
        if chance(15) {
            switch below(10) {
            case ..<7: callback.dispatcher = .manual
            case ..<9: callback.dispatcher = .inline
            default: callback.dispatcher = .dropping
            }
        }
        let id = newID()
        if form != .fail && form != .trap {
            callback.onValue = body(depth: depth)
        }
        if form != .then {
            callback.onFailure = body(depth: depth)
        }
        callback.isNested = callback.onValue.givesHandle || callback.onFailure.givesHandle
        if chance(10) { callback.atEnd = actions(depth: depth, upTo: 2) }
        all.append(id)
        return .attach(id: id, to: target, callback, keep: chance(80))
    }

    private mutating func body(depth: Int) -> ScriptedBody {
        var body = ScriptedBody()
        if depth < 2 && chance(35) {
            for _ in 0...below(2) { body.actions.append(action(depth: depth + 1)) }
        }
        switch below(10) {
        case ..<3: body.answer = .echo
        case ..<5: body.answer = .value(below(90) + 10)
        case ..<7: body.answer = .error(below(90) + 10)
        default: body.answer = .handle(any())
        }
        return body
    }

    private mutating func inputs() -> [Int] {
        (0..<[0, 1, 2, 2, 2, 3, 3, 4][below(8)]).map { _ in any() }
    }

    private mutating func list() -> ModelAction {
        let rule = ListRule.allCases[below(ListRule.allCases.count)]
        let options = ListOptions(consumesErrors: chance(40), cancelsRemaining: chance(40))
        let inputs = inputs()
        let id = newID()
        all.append(id)
        return .list(id: id, inputs, rule, options, keep: chance(85))
    }
}

extension ScriptedBody {
    fileprivate var givesHandle: Bool {
        if case .handle = answer { true } else { false }
    }
}

/// Sebastiano Vigna's SplitMix64: small, and the same everywhere.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
