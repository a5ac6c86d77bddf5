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
        case resolve, reject, cancel, cancelSource, runWork, dropWork, pause, unpause, attach, drop, dropSource
    }

    /// A callback that performs an operation, too; a source with a canceller; a finalizer.
    enum Extra { case action, canceller, finalizer }

    /// Returns each program with so many links, extras and operations, in a mixed order: so that a search that is cut off
    /// has seen some of every kind.
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
        var threads: [[Int]] = Array(repeating: [], count: min(3, count))
        distribute(count, among: &threads, 0, choices.count) { threads in
            let actions = threads.enumerated().map { thread in
                thread.element.enumerated().map { index, choice in
                    choices[choice].numbered(100 + 10 * thread.offset + index)
                }
            }
            programs.append(ThreadedProgram(setup: graph.setup, threads: actions))
        }
    }

    /// Threads are sequences of choices in ascending order. Only the smallest programs have the same choice in two threads.
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
                if threads.count > 2, threads[..<thread].contains(where: { !Set($0).isDisjoint(with: sequence) }) {
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

    private func choices(on graph: ProgramGraph) -> [ModelAction] {
        let sources = graph.sources.indices.map { $0 + 1 }
        let links = graph.nodes.filter { $0 > 10 }
        return operations.flatMap { kind -> [ModelAction] in
            switch kind {
            case .resolve: sources.map { .fire(id: 0, $0, through: .handle, .value(.number($0))) }
            case .reject: sources.map { .fire(id: 0, $0, through: .handle, .failure(.test($0))) }
            case .cancel: links.map { .cancel($0) }
            case .cancelSource: sources.map { .cancel($0) }
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
    /// Returns the action under that number, if it is one that needs it.
    fileprivate func numbered(_ number: Int) -> ModelAction {
        switch self {
        case .fire(_, let target, let completer, let outcome):
            .fire(id: number, target, through: completer, outcome)
        case .attach(_, let target, let callback, let keep):
            .attach(id: number, to: target, callback, keep: keep)
        case .unpause(_, let target): .unpause(id: number, target)
        default: self
        }
    }
}
