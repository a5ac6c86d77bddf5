/// All programs over some features, by size, up to symmetry.
struct ProgramClass {
    let name: String
    /// The ways to attach a link.
    let links: [LinkKind]
    let operations: [OperationKind]
    /// What a graph may have besides its links, at one place.
    var extras: [Extra] = []
    var greatestLinks = 3
    /// Whether sources are completed through resolvers, which may be released.
    var sources = Completion.handle
    /// The number of sources to which links can be attached.
    var sourceCount = 1
    /// Further programs, which are run first.
    var programs: [UserProgram] = []

    enum LinkKind {
        case callback(Form, Answer, on: Place = .here)
        case follow, followAlso, shielded, timeout, task
        case list(Rule, consumesErrors: Bool = false, cancelsRemaining: Bool = false)
        /// A list that starts one input at a time: a source is the second, or what follows from the list.
        case limited(Rule), limitedOfItself(Rule)

        /// What a callback returns: its input, a value, or a Deferred: a source, a settled one, or that of a link.
        enum Answer { case echo, value, pending, settled, link(Int) }

        static let map = callback(.value, .echo)
        static let recover = callback(.error, .value)
        static let thenPending = callback(.value, .pending)
        static let thenSettled = callback(.value, .settled)
        static let orElsePending = callback(.error, .pending)
    }

    enum OperationKind {
        case resolve, reject, cancel, cancelSource, follow, runWork, dropWork, dropDispatcher, attach, drop,
            dropSource, expire, dropResolver, wait, timeout
        case pause, unpause, pauseSource, unpauseSource, look
        /// Completes a source through the resolver that its canceller has kept.
        case resolveKept
        /// Makes a list of two sources; cancels what the operation before made.
        case list(Rule), cancelLast
        case await, cancelTask, finally
    }

    /// A callback that performs an operation, too; a source with a canceller; a finalizer; a source that is paused.
    enum Extra { case action, canceller, finalizer, paused }

    /// Calls `body` with each program with so many links, extras and operations, until it returns false. The order is
    /// mixed, so that a search that is cut off has seen some of every kind.
    func forEachProgram(ofSize size: Int, _ body: (UserProgram) -> Bool) {
        for program in size == 2 ? programs : [] where !body(program) { return }
        var parts: [(graph: ProgramGraph, operations: Int)] = []
        for linkCount in 1...greatestLinks where size > linkCount {
            for graph in graphs(linkCount) {
                parts.append((graph, size - linkCount))
                guard size > linkCount + 1 else { continue }
                parts += graphsWithExtras(graph).map { ($0, size - linkCount - 1) }
            }
        }
        var random = SplitMix64(UInt64(size))
        parts.shuffle(using: &random)
        // A few graphs at a time: all their programs together may need more memory than there is.
        for start in stride(from: 0, to: parts.count, by: 50) {
            var programs: [UserProgram] = []
            for part in parts[start..<min(start + 50, parts.count)] {
                addPrograms(part.graph, part.operations, to: &programs)
            }
            programs.shuffle(using: &random)
            for program in programs where !body(program) { return }
        }
    }

    /// Returns a program of this class with three to five links and four to six operations.
    func randomProgram(seed: UInt64) -> UserProgram {
        var random = SplitMix64(seed)
        func one<T>(of items: [T]) -> T { items[Int(random.next() % UInt64(items.count))] }
        var graph = ProgramGraph(sources, sourceCount)
        for _ in 0..<one(of: [3, 4, 4, 5]) {
            let next = graph.attaching(one(of: links), to: one(of: graph.nodes.suffix(3)))
            if !next.isEmpty { graph = one(of: next) }
        }
        for _ in 0..<one(of: [0, 1, 2]) {
            let next = graphsWithExtras(graph)
            if !next.isEmpty { graph = one(of: next) }
        }
        let threads = one(of: [[2, 2], [1, 3], [1, 1, 2], [1, 2, 2], [2, 2, 2]]).enumerated().map {
            thread, count in
            (0..<count).map { one(of: choices(on: graph, number: 100 + 10 * thread + $0)) }
        }
        return UserProgram(steps: graph.setup, threads: threads)
    }

    private func graphs(_ count: Int) -> [ProgramGraph] {
        if count == 0 { return [ProgramGraph(sources, sourceCount)] }
        return graphs(count - 1).flatMap { graph in
            links.flatMap { kind in graph.nodes.flatMap { parent in graph.attaching(kind, to: parent) } }
        }
    }

    private func graphsWithExtras(_ graph: ProgramGraph) -> [ProgramGraph] {
        extras.flatMap { extra in
            switch extra {
            case .action: choices(on: graph, number: 95 + graph.actionCount).flatMap { graph.performing($0) }
            case .canceller: graph.withCancellers()
            case .finalizer: graph.withFinalizers()
            case .paused: [graph.paused()]
            }
        }
    }

    // MARK: Operations

    /// Adds the programs that have one operation in each of up to three threads; where there are more, the last threads
    /// have several. (Fewer threads have no orders that these lack.)
    private func addPrograms(_ graph: ProgramGraph, _ count: Int, to programs: inout [UserProgram]) {
        // The choices of the first, second … operation of each thread.
        let choices = (0..<3).map { thread in
            (0..<count).map { self.choices(on: graph, number: 100 + 10 * thread + $0) }
        }
        let repeatable = choices[0][0].indices.filter {
            if case .link = choices[0][0][$0] { true } else { false }
        }
        let distribution = Distribution(choiceCount: choices[0][0].count, repeatable: Set(repeatable))
        for threads in distribution.threads(count) {
            let actions = threads.enumerated().map { thread in
                thread.element.enumerated().map { index, choice in choices[thread.offset][index][choice] }
            }
            programs.append(UserProgram(steps: graph.setup, threads: actions))
        }
    }

    /// Returns the operations on a graph, under that number.
    private func choices(on graph: ProgramGraph, number: Int) -> [Step] {
        let sources = graph.sources.indices.map { $0 + 1 }
        let links = graph.nodes.filter { $0 > 10 }
        return operations.flatMap { kind -> [Step] in
            switch kind {
            case .resolve: sources.map { .complete(number, target: $0, fails: false) }
            case .reject: sources.map { .complete(number, target: $0, fails: true) }
            case .cancel: links.map { .cancel($0) }
            case .cancelSource: sources.map { .cancel($0) }
            case .follow: sources.dropFirst().map { .follow($0, other: 1) }
            case .runWork: [.runWork]
            case .dropWork: [.dropWork]
            case .dropDispatcher: [.dropDispatcher]
            case .wait: graph.nodes.map { .wait($0) }
            case .timeout: graph.nodes.map { .timeout(number, of: $0) }
            case .pauseSource: [.pause(1)]
            case .unpauseSource: [.unpause(1)]
            case .pause: graph.nodes.map { .pause($0) }
            case .unpause: graph.nodes.map { .unpause($0) }
            case .attach: graph.nodes.map { .link(number, to: $0, .value, on: .here, Script()) }
            case .look: graph.nodes.map { .look($0) }
            case .drop: links.map { .drop($0) }
            case .dropSource: sources.map { .drop($0) }
            case .dropResolver: sources.map { .dropResolver($0) }
            case .resolveKept: graph.kept.map { [.completeKept($0)] } ?? []
            case .expire: [.advance]
            case .list(let rule): sources.count < 2 ? [] : [.list(number, [1, 2], rule)]
            case .cancelLast: [.cancel(number - 1)]
            case .await: graph.tasks.isEmpty ? [] : [.runJobs]
            case .finally: graph.nodes.map { .finally(number, of: $0, []) }
            case .cancelTask: graph.tasks.map { .cancelTask($0) }
            }
        }
    }
}
