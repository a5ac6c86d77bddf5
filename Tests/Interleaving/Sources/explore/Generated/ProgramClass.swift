/// All programs over some features, by size, up to symmetry.
struct ProgramClass {
    let name: String
    /// The ways to attach a link.
    let links: [LinkKind]
    let greatestLinks: Int
    let operations: [OperationKind]
    /// Whether a callback performs an operation.
    var actsInside = false

    enum LinkKind { case map, thenPending, thenSettled, recover, orElsePending }
    enum OperationKind { case resolve, reject, cancel, cancelSource }

    static let all = [
        ProgramClass(
            name: "nested", links: [.map, .thenPending, .thenSettled], greatestLinks: 3,
            operations: [.resolve, .cancel], actsInside: true)
    ]

    /// Returns each program with so many links and operations, in a mixed order: so that a search that is cut off has seen
    /// some of every kind.
    func programs(ofSize size: Int) -> [ThreadedProgram] {
        var programs: [ThreadedProgram] = []
        for linkCount in 1...greatestLinks where size - linkCount >= 2 {
            forEachGraph(Graph(), linkCount) { graph in
                for (graph, count) in [(graph, size - linkCount)] + acting(graph).map({ ($0, size - linkCount - 1) })
                where count >= 2 {
                    forEachOperations(of: graph, count: count) { threads in
                        programs.append(ThreadedProgram(setup: graph.setup, threads: threads))
                    }
                }
            }
        }
        var random = SplitMix64(UInt64(size))
        for index in programs.indices.reversed() {
            programs.swapAt(index, Int(random.next() % UInt64(index + 1)))
        }
        return programs
    }

    /// A graph of links: numbers 1 to 9 are sources, 11 and more are links.
    struct Graph {
        var sources: [ModelAction] = [.source(id: 1, .plain, nil)]
        var links: [ModelAction] = []
        var setup: [ModelAction] { sources + links }

        mutating func addSource() -> Int {
            let id = sources.count + 1
            sources.append(.source(id: id, .plain, nil))
            return id
        }
    }

    private func forEachGraph(_ graph: Graph, _ count: Int, _ body: (Graph) -> Void) {
        if count == 0 { return body(graph) }
        for parent in [1] + graph.links.indices.map({ 11 + $0 }) {
            for kind in links {
                var next = graph
                next.attach(kind, id: 11 + graph.links.count, to: parent)
                forEachGraph(next, count - 1, body)
            }
        }
    }

    /// Returns the graphs in which one callback also performs an operation.
    private func acting(_ graph: Graph) -> [Graph] {
        guard actsInside else { return [] }
        return graph.links.indices.flatMap { index in
            operations(on: graph).compactMap { operation in
                graph.links[index].performing(operation.numbered(90)).map { link in
                    var graph = graph
                    graph.links[index] = link
                    return graph
                }
            }
        }
    }

    // MARK: Operations

    /// One operation for each of up to three threads; where there are more, the last threads have several. (Fewer threads
    /// have no orders that these lack.)
    private func forEachOperations(of graph: Graph, count: Int, _ body: ([[ModelAction]]) -> Void) {
        let choices = operations(on: graph)
        var threads: [[Int]] = Array(repeating: [], count: min(3, count))
        distribute(count, among: &threads, 0, choices.count) { threads in
            let actions = threads.enumerated().map { thread in
                thread.element.enumerated().map { index, choice in
                    choices[choice].numbered(100 + 10 * thread.offset + index)
                }
            }
            body(actions)
        }
    }

    /// Threads are sequences of choices in ascending order.
    private func distribute(
        _ count: Int, among threads: inout [[Int]], _ thread: Int, _ choices: Int, _ body: ([[Int]]) -> Void
    ) {
        if thread == threads.count {
            if count == 0 { body(threads) }
            return
        }
        let rest = threads.count - thread - 1
        guard count - rest >= 1 else { return }
        for length in 1...(count - rest) where thread == 0 || length >= threads[thread - 1].count {
            for sequence in sequences(of: length, below: choices) {
                if thread > 0 && precedes(sequence, threads[thread - 1]) { continue }
                if count > 2, threads[..<thread].contains(where: { !Set($0).isDisjoint(with: sequence) }) {
                    continue
                }
                threads[thread] = sequence
                distribute(count - length, among: &threads, thread + 1, choices, body)
            }
        }
    }

    private func precedes(_ first: [Int], _ second: [Int]) -> Bool {
        first.count != second.count ? first.count < second.count : first.lexicographicallyPrecedes(second)
    }

    /// Returns all sequences without repetitions.
    private func sequences(of length: Int, below bound: Int) -> [[Int]] {
        if length == 0 { return [[]] }
        return sequences(of: length - 1, below: bound).flatMap { start in
            (0..<bound).filter { !start.contains($0) }.map { start + [$0] }
        }
    }

    private func operations(on graph: Graph) -> [ModelAction] {
        var result: [ModelAction] = []
        for kind in operations {
            switch kind {
            case .resolve:
                for id in 1...graph.sources.count {
                    result.append(.fire(id: 0, id, through: .handle, .value(.number(id))))
                }
            case .reject:
                for id in 1...graph.sources.count {
                    result.append(.fire(id: 0, id, through: .handle, .failure(.test(id))))
                }
            case .cancel:
                for index in graph.links.indices { result.append(.cancel(11 + index)) }
            case .cancelSource:
                for id in 1...graph.sources.count { result.append(.cancel(id)) }
            }
        }
        return result
    }
}

extension ModelAction {
    /// Returns this link with a callback that performs `operation`, too; nil if it has no callback.
    fileprivate func performing(_ operation: ModelAction) -> ModelAction? {
        guard case .attach(let id, let target, var callback, let keep) = self else { return nil }
        if callback.form == .fail {
            callback.onFailure.actions = [operation]
        } else {
            callback.onValue.actions = [operation]
        }
        return .attach(id: id, to: target, callback, keep: keep)
    }

    fileprivate func numbered(_ number: Int) -> ModelAction {
        switch self {
        case .fire(_, let target, let completer, let outcome):
            .fire(id: number, target, through: completer, outcome)
        default: self
        }
    }
}

extension ProgramClass.Graph {
    mutating func attach(_ kind: ProgramClass.LinkKind, id: Int, to parent: Int) {
        var callback = Callback(form: .then)
        switch kind {
        case .map: break
        case .thenPending:
            callback.isNested = true
            callback.onValue.answer = .handle(addSource())
        case .thenSettled:
            callback.isNested = true
            callback.onValue.answer = .value(id)
        case .recover:
            callback.form = .fail
            callback.onFailure.answer = .value(id)
        case .orElsePending:
            callback.form = .fail
            callback.isNested = true
            callback.onFailure.answer = .handle(addSource())
        }
        links.append(.attach(id: id, to: parent, callback, keep: true))
    }
}
