/// The links of a generated program: numbers 1 to 9 are sources, 11 and more are links.
struct ProgramGraph {
    private(set) var sources: [Step]
    /// The numbers of the Tasks.
    private(set) var tasks: [Int] = []
    /// The number of the resolver that a canceller keeps.
    private(set) var kept: Int?
    /// How many callbacks perform an operation.
    private(set) var actionCount = 0
    private let kind: Completion
    /// Whether a link has the dispatcher that is released.
    private var releasedIsUsed = false
    private var links: [[Step]] = []
    /// Those to which a link can be attached.
    private(set) var nodes: [Int]

    var setup: [Step] { sources + links.joined() }

    init(_ kind: Completion, _ count: Int) {
        self.kind = kind
        nodes = Array(1...count)
        sources = nodes.map { .source($0, kind, canceller: nil) }
    }

    private mutating func addSource() -> Int {
        let id = sources.count + 1
        sources.append(.source(id, kind, canceller: nil))
        return id
    }

    /// Returns the graphs with one more link, attached to `parent`.
    func attaching(_ kind: ProgramClass.LinkKind, to parent: Int) -> [ProgramGraph] {
        let id = 11 + links.count
        var graph = self
        switch kind {
        case .follow:
            return [
                graph.adding([
                    .source(id, .handle, canceller: nil), .follow(id, other: parent),
                ])
            ]
        case .followAlso:
            // Another node, or, in place of the first, another source.
            return links.compactMap { link in
                guard case .source(let target, _, _) = link[0], target != parent else { return nil }
                var graph = self
                let followed = parent == 1 ? graph.addSource() : parent
                let action = Step.follow(target, other: followed)
                return graph.adding([action], isNode: false)
            }
        case .task:
            graph.tasks.append(id)
            return [graph.adding([.awaiting(id, parent)], isNode: false)]
        case .timeout:
            return [graph.adding([.timeout(id, of: parent)])]
        case .shielded:
            return [graph.adding([.shielded(id, of: parent)])]
        case .list(let rule, let consumes, let cancels):
            let other = graph.addSource()
            let list = Step.list(
                id, [parent, other], rule, consumesErrors: consumes, cancelsRemaining: cancels)
            return [graph.adding([list])]
        case .limited(let rule):
            let other = graph.addSource()
            return [graph.adding(limitedList(id, [parent, other], rule))]
        case .limitedOfItself(let rule):
            return [graph.adding(limitedList(id, [parent, id], rule))]
        case .callback(let form, let answer, let place):
            // Two that wait for one another would retain a dispatcher that is released.
            if place == .released, releasedIsUsed { return [] }
            graph.releasedIsUsed = releasedIsUsed || place == .released
            let script = graph.script(answer, id)
            return [graph.adding([.link(id, to: parent, form, on: place, script)])]
        }
    }

    private mutating func script(_ answer: ProgramClass.LinkKind.Answer, _ id: Int) -> Script {
        switch answer {
        case .echo: Script()
        case .value: Script(answer: .value)
        case .pending: Script(answer: .deferred(addSource()))
        case .settled: Script(steps: [.settled(20 + id, fails: false)], answer: .deferred(20 + id))
        case .link(let link): Script(answer: .deferred(link))
        }
    }

    /// Returns a list and a link that is attached to it.
    private func limitedList(_ id: Int, _ inputs: [Int], _ rule: Rule) -> [Step] {
        let scripts = inputs.map { Script(answer: .deferred($0)) }
        return [
            .limited(40 + id, scripts, limit: 1, rule), .link(id, to: 40 + id, .value, on: .here, Script()),
        ]
    }

    private mutating func adding(_ actions: [Step], isNode: Bool = true) -> ProgramGraph {
        if isNode { nodes.append(11 + links.count) }
        links.append(actions)
        return self
    }

    // MARK: Extras

    /// Returns the graphs in which one callback also performs `operation`.
    func performing(_ operation: Step) -> [ProgramGraph] {
        links.indices.compactMap { index in
            guard case .link(let id, let target, let form, let place, var script) = links[index][0] else {
                return nil
            }
            script.steps.append(operation)
            var graph = self
            graph.links[index][0] = .link(id, to: target, form, on: place, script)
            graph.actionCount += 1
            return graph
        }
    }

    /// Returns the graphs in which one source has a canceller, which may complete it, or keep its resolver.
    func withCancellers() -> [ProgramGraph] {
        sources.indices.flatMap { index in
            let answers: [Answer] = [.echo, .value, .error] + (kind == .resolver ? [.keep] : [])
            return answers.map { answer in
                var graph = self
                graph.kept = answer == .keep ? index + 1 : nil
                graph.sources[index] = .source(index + 1, kind, canceller: Script(answer: answer))
                return graph
            }
        }
    }

    /// Returns the graph with a source that is paused from the start.
    func paused() -> ProgramGraph {
        var graph = self
        graph.links.append([.pause(1)])
        return graph
    }

    /// Returns the graphs in which one Deferred has a finalizer.
    func withFinalizers() -> [ProgramGraph] {
        nodes.map { node in
            var graph = self
            graph.links.append([.finally(80, of: node, [])])
            return graph
        }
    }
}
