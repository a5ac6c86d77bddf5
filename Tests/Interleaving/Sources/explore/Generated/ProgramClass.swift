/// All programs over some features, by size, up to symmetry.
struct ProgramClass {
    let name: String
    /// The ways to attach a link.
    let links: [LinkKind]
    let operations: [OperationKind]
    /// What a graph may have besides its links, at one place.
    var extras: [Extra] = []
    var greatestLinks = 3

    enum LinkKind {
        case map, thenPending, thenSettled, recover, orElsePending
        case follow, followAlso, shielded
        case mapManual, thenManual, recoverManual, mapDropping
        case list(ListRule, ListOptions)
        /// A list that starts one input at a time: a source is the second, or what follows from the list.
        case limited(ListRule), limitedOfItself(ListRule)
    }

    enum OperationKind {
        case resolve, reject, cancel, cancelSource, follow, runWork, dropWork, pause, unpause, attach, drop,
            dropSource
    }

    /// A callback that performs an operation, too; a source with a canceller; a finalizer.
    enum Extra { case action, canceller, finalizer }

    /// Returns each program with so many links, extras and operations, in a mixed order, so that a search that is cut
    /// off has seen some of every kind.
    func programs(ofSize size: Int) -> [ThreadedProgram] {
        var programs: [ThreadedProgram] = []
        for linkCount in 1...greatestLinks where size > linkCount {
            for graph in graphs(linkCount) {
                addPrograms(graph, size - linkCount, to: &programs)
                guard size > linkCount + 1 else { continue }
                for extended in graphsWithExtras(graph) {
                    addPrograms(extended, size - linkCount - 1, to: &programs)
                }
            }
        }
        var random = SplitMix64(UInt64(size))
        for index in programs.indices.reversed() {
            programs.swapAt(index, Int(random.next() % UInt64(index + 1)))
        }
        return programs
    }

    /// Returns a program of this class with three to five links and four to six operations.
    func randomProgram(seed: UInt64) -> ThreadedProgram {
        var random = SplitMix64(seed)
        func one<T>(of items: [T]) -> T { items[Int(random.next() % UInt64(items.count))] }
        var graph = ProgramGraph()
        for _ in 0..<one(of: [3, 4, 4, 5]) {
            let next = graph.attaching(one(of: links), to: one(of: graph.nodes.suffix(3)))
            if !next.isEmpty { graph = one(of: next) }
        }
        for _ in 0..<one(of: [0, 1, 2]) {
            let next = graphsWithExtras(graph)
            if !next.isEmpty { graph = one(of: next) }
        }
        let choices = choices(on: graph)
        let threads = one(of: [[2, 2], [1, 3], [1, 1, 2], [1, 2, 2], [2, 2, 2]]).enumerated().map {
            thread, count in
            (0..<count).map { one(of: choices).numbered(100 + 10 * thread + $0) }
        }
        return ThreadedProgram(setup: graph.setup, threads: threads)
    }

    private func graphs(_ count: Int) -> [ProgramGraph] {
        if count == 0 { return [ProgramGraph()] }
        return graphs(count - 1).flatMap { graph in
            links.flatMap { kind in graph.nodes.flatMap { parent in graph.attaching(kind, to: parent) } }
        }
    }

    private func graphsWithExtras(_ graph: ProgramGraph) -> [ProgramGraph] {
        extras.flatMap { extra in
            switch extra {
            case .action: choices(on: graph).flatMap { graph.performing($0) }
            case .canceller: graph.withCancellers()
            case .finalizer: graph.withFinalizers()
            }
        }
    }

    // MARK: Operations

    /// Adds the programs that have one operation in each of up to three threads; where there are more, the last threads
    /// have several. (Fewer threads have no orders that these lack.)
    private func addPrograms(_ graph: ProgramGraph, _ count: Int, to programs: inout [ThreadedProgram]) {
        let choices = choices(on: graph)
        let repeatable = Set(choices.indices.filter { choices[$0].isAttaching })
        for threads in Distribution(choiceCount: choices.count, repeatable: repeatable).threads(count) {
            let actions = threads.enumerated().map { thread in
                thread.element.enumerated().map { index, choice in
                    choices[choice].numbered(100 + 10 * thread.offset + index)
                }
            }
            programs.append(ThreadedProgram(setup: graph.setup, threads: actions))
        }
    }

    private func choices(on graph: ProgramGraph) -> [ModelAction] {
        let sources = graph.sources.indices.map { $0 + 1 }
        let links = graph.nodes.filter { $0 > 10 }
        return operations.flatMap { kind -> [ModelAction] in
            switch kind {
            case .resolve: sources.map { .fire(id: 0, $0, through: .handle, .value(.number($0))) }
            case .reject: sources.map { .fire(id: 0, $0, through: .handle, .failure(.test($0))) }
            case .cancel: links.map { .cancel($0) }
            case .cancelSource: sources.map { .cancel($0) }
            case .follow: sources.dropFirst().map { .follow(id: 0, $0, through: .handle, 1) }
            case .runWork: [.runWork]
            case .dropWork: [.dropWork]
            case .pause: graph.nodes.map { .pause($0) }
            case .unpause: graph.nodes.map { .unpause(id: 0, $0) }
            case .attach: graph.nodes.map { .attach(id: 0, to: $0, Callback(form: .then), keep: true) }
            case .drop: links.map { .drop($0) }
            case .dropSource: sources.map { .drop($0) }
            }
        }
    }
}

extension ModelAction {
    fileprivate var isAttaching: Bool { if case .attach = self { true } else { false } }

    /// Returns the action under that number, if it is one that needs it.
    fileprivate func numbered(_ number: Int) -> ModelAction {
        switch self {
        case .fire(_, let target, let completer, let outcome):
            .fire(id: number, target, through: completer, outcome)
        case .attach(_, let target, let callback, let keep):
            .attach(id: number, to: target, callback, keep: keep)
        case .unpause(_, let target): .unpause(id: number, target)
        case .follow(_, let target, let completer, let other):
            .follow(id: number, target, through: completer, other)
        default: self
        }
    }
}
