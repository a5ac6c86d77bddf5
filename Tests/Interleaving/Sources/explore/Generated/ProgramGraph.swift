/// The links of a generated program: numbers 1 to 9 are sources, 11 and more are links.
struct ProgramGraph {
    private(set) var sources: [ModelAction]
    /// The numbers of the Tasks.
    private(set) var tasks: [Int] = []
    /// The number of the resolver that a canceller keeps.
    private(set) var kept: Int?
    /// How many callbacks perform an operation.
    private(set) var actionCount = 0
    private let kind: SourceKind
    /// Whether a link has the dispatcher that is released.
    private var releasedIsUsed = false
    private var links: [[ModelAction]] = []
    /// Those to which a link can be attached.
    private(set) var nodes: [Int]

    var setup: [ModelAction] { sources + links.joined() }

    init(_ kind: SourceKind, _ count: Int) {
        self.kind = kind
        nodes = Array(1...count)
        sources = nodes.map { .source(id: $0, kind, nil) }
    }

    private mutating func addSource() -> Int {
        let id = sources.count + 1
        sources.append(.source(id: id, kind, nil))
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
                    .source(id: id, .plain, nil), .follow(id: 60 + id, id, through: .handle, parent),
                ])
            ]
        case .followAlso:
            // Another node, or, in place of the first, another source.
            return links.compactMap { link in
                guard case .source(let target, _, _) = link[0], target != parent else { return nil }
                var graph = self
                let followed = parent == 1 ? graph.addSource() : parent
                let action = ModelAction.follow(id: 60 + id, target, through: .handle, followed)
                return graph.adding([action], isNode: false)
            }
        case .task:
            graph.tasks.append(id)
            return [graph.adding([.task(id: id, parent)], isNode: false)]
        case .timeout:
            return [graph.adding([.timeout(id: id, parent)])]
        case .shielded:
            return [graph.adding([.shielded(id: id, parent)])]
        case .list(let rule, let options):
            let other = graph.addSource()
            return [graph.adding([.list(id: id, [parent, other], rule, options, keep: true)])]
        case .limited(let rule):
            let other = graph.addSource()
            return [graph.adding(limitedList(id, [parent, other], rule))]
        case .limitedOfItself(let rule):
            return [graph.adding(limitedList(id, [parent, id], rule))]
        case .callback(let form, let answer, let dispatcher):
            // Two that wait for one another would retain a dispatcher that is released.
            if dispatcher == .released, releasedIsUsed { return [] }
            graph.releasedIsUsed = releasedIsUsed || dispatcher == .released
            let body = graph.body(answer, id)
            let callback = Callback(
                form: form, dispatcher: dispatcher, isNested: body.isNested,
                onValue: form == .fail ? ScriptedBody() : body.script,
                onFailure: form == .fail ? body.script : ScriptedBody())
            return [graph.adding([.attach(id: id, to: parent, callback, keep: true)])]
        }
    }

    private mutating func body(
        _ answer: ProgramClass.LinkKind.Answer, _ id: Int
    ) -> (script: ScriptedBody, isNested: Bool) {
        switch answer {
        case .echo: (ScriptedBody(), false)
        case .value: (ScriptedBody(answer: .value(id)), false)
        case .settled: (ScriptedBody(answer: .value(id)), true)
        case .pending: (ScriptedBody(answer: .handle(addSource())), true)
        case .link(let link): (ScriptedBody(answer: .handle(link)), true)
        }
    }

    /// Returns a list and a link that is attached to it.
    private func limitedList(_ id: Int, _ inputs: [Int], _ rule: ListRule) -> [ModelAction] {
        [
            .limitedList(id: 40 + id, inputs, limit: 1, rule),
            .attach(id: id, to: 40 + id, Callback(form: .then), keep: true),
        ]
    }

    private mutating func adding(_ actions: [ModelAction], isNode: Bool = true) -> ProgramGraph {
        if isNode { nodes.append(11 + links.count) }
        links.append(actions)
        return self
    }

    // MARK: Extras

    /// Returns the graphs in which one callback also performs `operation`.
    func performing(_ operation: ModelAction) -> [ProgramGraph] {
        links.indices.compactMap { index in
            guard case .attach(let id, let target, var callback, let keep) = links[index][0] else {
                return nil
            }
            if callback.form == .fail {
                callback.onFailure.actions = [operation]
            } else {
                callback.onValue.actions = [operation]
            }
            var graph = self
            graph.links[index][0] = .attach(id: id, to: target, callback, keep: keep)
            graph.actionCount += 1
            return graph
        }
    }

    /// Returns the graphs in which one source has a canceller, which may complete it, or keep its resolver.
    func withCancellers() -> [ProgramGraph] {
        sources.indices.flatMap { index in
            var cancellers = [
                Canceller(), Canceller(completes: .value(.number(50 + index))),
                Canceller(completes: .failure(.test(50 + index))),
            ]
            if kind == .withResolver { cancellers.append(Canceller(keeps: 90)) }
            return cancellers.map { canceller in
                var graph = self
                graph.kept = canceller.keeps
                graph.sources[index] = .source(id: index + 1, kind, canceller)
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
            graph.links.append([.finally(id: 80, node, [])])
            return graph
        }
    }
}
