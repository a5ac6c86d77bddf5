/// A program of a few threads, in the actions of the model's programs.
struct ThreadedProgram {
    /// What is made before the threads begin.
    var setup: [ModelAction] = []
    var threads: [[ModelAction]] = []

    /// Whether a thread, or a callback, releases a handle or a resolver.
    var releasesHandles: Bool { (setup + threads.joined()).contains { $0.releases } }

    var pauses: Bool { (setup + threads.joined()).contains { if case .pause = $0 { true } else { false } } }

    /// The number of its links and operations.
    var size: Int { setup.count { !$0.isSource } + threads.reduce(0) { $0 + $1.count } }
}

extension ThreadedProgram: CustomStringConvertible {
    var description: String {
        let setup = setup.map { "    \($0)" }
        let threads = threads.enumerated().map { thread in
            "  thread \(thread.offset): \(thread.element.map(\.description).joined(separator: "; "))"
        }
        return (setup + threads).joined(separator: "\n")
    }
}

extension ModelAction {
    var isSource: Bool { if case .source = self { true } else { false } }

    fileprivate var releases: Bool {
        switch self {
        case .drop, .dropResolver: true
        case .attach(_, _, let callback, _):
            (callback.onValue.actions + callback.onFailure.actions).contains { $0.releases }
        default: false
        }
    }
}

extension ThreadedProgram {
    /// Returns a program with no part that can be left out while it fails.
    func shrunk(while fails: (ThreadedProgram) -> Bool) -> ThreadedProgram {
        var smallest = self
        var hasShrunk = true
        while hasShrunk {
            hasShrunk = false
            for candidate in smallest.parts where fails(candidate) {
                smallest = candidate
                hasShrunk = true
                break
            }
        }
        return smallest
    }

    /// The programs without one part. (An action on a handle that is missing does nothing.)
    private var parts: [ThreadedProgram] {
        var result: [ThreadedProgram] = []
        for index in setup.indices.reversed() where !setup[index].isSource {
            var program = self
            program.setup.remove(at: index)
            result.append(program)
        }
        for thread in threads.indices {
            for index in threads[thread].indices {
                var program = self
                program.threads[thread].remove(at: index)
                if program.threads[thread].isEmpty { program.threads.remove(at: thread) }
                if !program.threads.isEmpty { result.append(program) }
            }
        }
        return result
    }
}
