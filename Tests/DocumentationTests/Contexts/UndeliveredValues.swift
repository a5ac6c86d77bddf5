import Deferred

struct File: Sendable {
    func close() {}
}

struct Connection: Sendable {}

struct Pool: Sendable {
    func connect(_ completion: @escaping @Sendable (Connection) -> Void) {}
    func takeBack(_ connection: Connection) {}
}

let path = ""
let pool = Pool()
let queue = DeferredQueue<String>()

func open(_ path: String) async throws -> File { File() }
func read(_ file: File) -> String { "" }
func handle(_ element: String) {}
