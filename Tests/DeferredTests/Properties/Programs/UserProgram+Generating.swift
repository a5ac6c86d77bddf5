extension UserProgram {
    /// What programs are about: which steps are frequent.
    enum Theme: CaseIterable {
        /// Chains, nested results and `follow`, cancelled twice.
        case cancels
        /// Lists in lists, with limits.
        case lists
        /// Two semaphores, queues, caches and the like.
        case objects
        /// Finalizers, pauses, dispatchers.
        case endings
        /// What has an order, and no cancels: what the model judges, too.
        case order
        /// All of it, on two threads that take turns.
        case threads
    }

    /// Returns a program; the same seed makes the same program.
    static func random(_ theme: Theme, seed: UInt64) -> UserProgram {
        var generator = Generator(theme: theme, random: SplitMix64(seed))
        return generator.program()
    }
}

private struct Generator {
    let theme: UserProgram.Theme
    var random: SplitMix64
    private var nextID = 1
    private var ids: [Int] = []
    private var sources: [Int] = []
    private var tasks: [Int] = []

    init(theme: UserProgram.Theme, random: SplitMix64) { (self.theme, self.random) = (theme, random) }

    mutating func program() -> UserProgram {
        var program = UserProgram()
        for _ in 0...(1 + below(3)) { program.steps.append(source(0)) }
        if chance(50), theme == .cancels || theme == .lists || theme == .objects { return answering(program) }
        if theme == .order {
            for _ in 0..<(6 + below(24)) { program.steps.append(orderedStep(0)) }
            return program
        }
        let isThreaded = theme == .threads
        if chance(isThreaded ? 20 : 10) { return circular(program) }
        for _ in 0..<(isThreaded ? 3 + below(6) : 5 + below(16)) { program.steps.append(step(0)) }
        if isThreaded {
            program.threads = (0..<2).map { _ in (0..<(2 + below(4))).map { _ in step(0) } }
        } else {
            addCancels(&program)
        }
        return program
    }

    /// A small program in which little is completed, so that cancels meet what answers them.
    private mutating func answering(_ start: UserProgram) -> UserProgram {
        var program = start
        if chance(60) { return carried(program) }
        for _ in 0..<(2 + below(4)) {
            switch below(theme == .cancels ? 6 : 9) {
            case ..<3:
                let (target, form, script) = (recent(), Form.allCases[below(4)], script(1))
                program.steps.append(.link(position(), to: target, form, on: .here, script))
            case 3: program.steps.append(source(0))
            case 4: program.steps.append(.follow(source(), other: recent()))
            case 5: program.steps.append(chance(50) ? ending(2) : .pause(recent()))
            default: program.steps.append(theme == .lists ? list(1) : object(1))
            }
        }
        let target = recent()
        for _ in 0...(1 + below(2)) { program.steps.append(.cancel(chance(75) ? target : recent())) }
        return program
    }

    /// What a canceller or an errback answers with, carried on by what passes outcomes on, and cancelled again and again.
    private mutating func carried(_ start: UserProgram) -> UserProgram {
        var program = start
        let (inner, outer, answers) = (position(), position(), chance(50))
        sources += [inner, outer]
        program.steps.append(.source(inner, .handle, canceller: nil))
        let canceller = answers ? Script(answer: .value) : nil
        program.steps.append(.source(outer, .handle, canceller: canceller))
        let forms: [Form] = answers ? [.value, .either, .pair] : [.error, .either, .pair]
        var last = position()
        let nested = Script(answer: .deferred(inner))
        program.steps.append(.link(last, to: outer, forms[below(3)], on: .here, nested))
        for _ in 0...below(2) {
            let target = last
            last = position()
            let script = Script(answer: .deferred(target))
            switch below(11) {
            case ..<4:
                program.steps.append(.source(last, chance(50) ? .handle : .resolver, canceller: nil))
                program.steps.append(.follow(last, other: target))
            case 4: program.steps.append(.locked(last, by: 1, script))
            case 5: program.steps.append(.retry(last, [script, script], delayed: false))
            case 6: program.steps.append(.timeout(last, of: target))
            case 7: program.steps.append(.list(last, [target, recent()], Rule.allCases[below(4)]))
            case 8: program.steps.append(.limited(last, [script], limit: 1, Rule.allCases[below(4)]))
            case 9: program.steps.append(.cached(last, in: 1, key: 1, script))
            default: program.steps.append(.latest(last, of: 1, script))
            }
            if chance(25) { program.steps.append(ending(2)) }
        }
        let end = position()
        program.steps.append(.link(end, to: last, Form.allCases[below(4)], on: .here, Script()))
        for _ in 0...(1 + below(2)) { program.steps.append(.cancel(chance(80) ? end : recent())) }
        return program
    }

    /// Two that come to wait for each other (L5), directly or through what passes outcomes on, and what is below them.
    private mutating func circular(_ start: UserProgram) -> UserProgram {
        var program = start
        let (first, second, through) = (position(), position(), position())
        for (id, other) in [(first, second), (second, through)] {
            let step = source(2)
            let source = ids[ids.count - 1]
            program.steps += [
                step, .link(id, to: source, .value, on: .here, Script(answer: .deferred(other))),
            ]
        }
        switch below(6) {
        case 0: program.steps.append(.shielded(through, of: first))
        case 1: program.steps.append(.list(through, [first, recent()], Rule.allCases[below(4)]))
        case 2: program.steps.append(.timeout(through, of: first))
        case 3: program.steps += [.source(through, .handle, canceller: nil), .follow(through, other: first)]
        default: program.steps.append(.link(through, to: first, .either, on: .here, Script()))
        }
        let last = position()
        program.steps.append(.link(last, to: first, Form.allCases[below(4)], on: .here, script(1)))
        var ends =
            sources.suffix(2).map { Step.complete(newID(), target: $0, fails: false) } + [.cancel(last)]
        if chance(40) { ends.append(step(1)) }
        ends.shuffle(using: &random)
        if theme == .threads {
            program.threads = ends.prefix(3).map { [$0] }
            program.threads[2] += ends.dropFirst(3)
        } else {
            program.steps += ends
        }
        return program
    }

    /// A first cancel may be answered; the second is a new one.
    private mutating func addCancels(_ program: inout UserProgram) {
        guard theme != .endings || chance(40) else { return }
        let target = recent()
        for _ in 0...below(3) { program.steps.append(.cancel(chance(70) ? target : recent())) }
    }

    // MARK: Chance

    private mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }
    private mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    private mutating func recent() -> Int {
        guard !ids.isEmpty else { return 1 }
        return chance(60) ? ids[max(0, ids.count - 1 - below(3))] : ids[below(ids.count)]
    }
    private mutating func source() -> Int { sources.isEmpty ? 1 : sources[below(sources.count)] }
    private mutating func newID() -> Int {
        defer { nextID += 1 }
        return nextID
    }
    /// A number for a position, which later steps may use.
    private mutating func position() -> Int {
        let id = newID()
        ids.append(id)
        return id
    }

    // MARK: Steps

    private mutating func orderedStep(_ depth: Int) -> Step {
        switch below(100) {
        case ..<6: return source(depth)
        case ..<9: return .settled(position(), fails: chance(40))
        case ..<27: return .complete(newID(), target: source(), fails: chance(40))
        case ..<54: return link(depth)
        case ..<58:
            let target = recent()
            return .shielded(position(), of: target)
        case ..<67:
            let target = recent()
            return .finally(newID(), of: target, depth < 2 && chance(25) ? [step(depth + 1)] : [])
        case ..<71: return .follow(source(), other: recent())
        case ..<78: return list(depth)
        case ..<83: return .pause(recent())
        case ..<88: return .unpause(recent())
        case ..<90: return .look(recent())
        case ..<94: return .drop(recent())
        case ..<95: return .dropResolver(source())
        case ..<99: return .runWork
        default: return .dropWork
        }
    }

    private mutating func step(_ depth: Int) -> Step {
        if theme == .order { return orderedStep(depth) }
        /// Shares of: chain, list, object, ending, pause and dispatchers.
        let shares: [Int] =
            switch theme {
            case .cancels: [70, 5, 5, 10, 10]
            case .lists: [45, 35, 5, 10, 5]
            case .objects: [35, 5, 50, 5, 5]
            case .endings: [45, 8, 5, 20, 22]
            case .order, .threads: [55, 10, 15, 10, 10]
            }
        var place = below(100)
        let kind = shares.firstIndex { share in
            place -= share
            return place < 0
        }
        switch kind {
        case 1: return list(depth)
        case 2: return object(depth)
        case 3: return ending(depth)
        case 4: return control()
        default: return chain(depth)
        }
    }

    private mutating func source(_ depth: Int) -> Step {
        let canceller = theme != .order && chance(40) ? script(depth, [.echo, .value, .value, .error]) : nil
        let id = position()
        sources.append(id)
        return .source(id, chance(60) ? .handle : .resolver, canceller: canceller)
    }

    private mutating func chain(_ depth: Int) -> Step {
        switch below(100) {
        case ..<10: return source(depth)
        case ..<13: return .settled(position(), fails: chance(40))
        case ..<48: return link(depth)
        case ..<53:
            let target = recent()
            return .shielded(position(), of: target)
        case ..<57:
            let target = recent()
            return .timeout(position(), of: target)
        case ..<66: return .follow(source(), other: recent())
        case ..<76: return .complete(newID(), target: source(), fails: chance(40))
        case ..<92: return .cancel(recent())
        case ..<95: return .cancelAll([recent(), recent(), recent()], byBag: chance(50))
        case ..<97 where theme != .threads:
            let target = recent()
            let id = newID()
            tasks.append(id)
            return .awaiting(id, target)
        case ..<98: return .runJobs
        case 98 where !tasks.isEmpty: return .cancelTask(tasks[below(tasks.count)])
        default: return .look(recent())
        }
    }

    private mutating func link(_ depth: Int) -> Step {
        let target = recent()
        let (form, script) = (Form.allCases[below(4)], script(depth))
        return .link(position(), to: target, form, on: place(), script)
    }

    private mutating func place() -> Place {
        guard chance(theme == .endings || theme == .order ? 25 : 10) else { return .here }
        return [.stored, .stored, .inline, .dropping][below(4)]
    }

    private mutating func script(_ depth: Int, _ answers: [Answer] = []) -> Script {
        var script = Script()
        if depth < 2, chance(25) { for _ in 0...below(2) { script.steps.append(step(depth + 1)) } }
        if !answers.isEmpty {
            script.answer = answers[below(answers.count)]
            return script
        }
        switch below(10) {
        case ..<2: script.answer = .echo
        case ..<4: script.answer = .value
        case ..<5: script.answer = .error
        case ..<7 where depth < 2:
            script.steps.append(source(2))
            script.answer = .deferred(ids[ids.count - 1])
        default: script.answer = .deferred(recent())
        }
        return script
    }

    private mutating func list(_ depth: Int) -> Step {
        let rule = Rule.allCases[below(4)]
        if theme != .order, chance(35) {
            let scripts = (0...below(4)).map { _ in script(depth + 1) }
            return .limited(position(), scripts, limit: 1 + below(2), rule)
        }
        let inputs = (0..<[1, 2, 2, 2, 3, 3, 4][below(7)]).map { _ in recent() }
        return .list(
            position(), inputs, rule, consumesErrors: chance(40),
            cancelsRemaining: theme != .order && chance(40))
    }

    private mutating func object(_ depth: Int) -> Step {
        let object = 1 + below(2)
        switch below(100) {
        case ..<24:
            let script = script(depth)
            return .locked(position(), by: object, script)
        case ..<36:
            let script = script(depth)
            return .latest(position(), of: object, script)
        case ..<50:
            let script = script(depth)
            return .cached(position(), in: object, key: 1 + below(2), script)
        case ..<60:
            let scripts = (0...(1 + below(2))).map { _ in script(depth + 1) }
            return .retry(position(), scripts, delayed: chance(50))
        case ..<74: return .get(position(), from: object)
        case ..<78:
            let script = script(depth)
            return .worker(position(), of: object, script)
        case ..<92: return .put(newID(), into: object)
        case ..<94: return .finish(queue: object)
        default: return .advance
        }
    }

    private mutating func ending(_ depth: Int) -> Step {
        let target = recent()
        if chance(15) { return .drop(target) }
        let steps = depth < 2 && chance(25) ? [step(depth + 1)] : []
        return .finally(newID(), of: target, steps)
    }

    private mutating func control() -> Step {
        switch below(100) {
        case ..<25: .pause(recent())
        case ..<50: .unpause(recent())
        case ..<85: .runWork
        case ..<90: .dropWork
        default: .advance
        }
    }
}
