/// A program of a few threads, in the actions of the model's programs.
struct ThreadedProgram {
    /// What is made before the threads begin.
    var setup: [ModelAction] = []
    var threads: [[ModelAction]] = []

    var releasesHandles: Bool {
        threads.joined().contains { if case .drop = $0 { true } else { false } }
    }

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
}
