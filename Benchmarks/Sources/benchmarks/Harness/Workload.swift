/// Who takes part.
enum Library: String, Codable, CaseIterable {
    case deferred = "Deferred"
    case embedded = "NIO embedded"
    case threaded = "NIO threaded"
    case openCombine = "OpenCombine"
    case task = "Swift Task"
    case continuation = "Swift continuation"
    case dispatch = "Dispatch"
}

/// One library's way of doing a workload.
struct Contender {
    let library: Library
    let timebase: Timebase
    /// How many items (operations, links, steps) one iteration is made of.
    let items: Int
    /// Does the work `iterations` times, and throws unless all of it came out right.
    let body: (_ iterations: Int, _ stopwatch: Stopwatch) throws -> Void

    init(
        _ library: Library, _ timebase: Timebase = .thread, items: Int = 1,
        body: @escaping (_ iterations: Int, _ stopwatch: Stopwatch) throws -> Void
    ) {
        self.library = library
        self.timebase = timebase
        self.items = items
        self.body = body
    }
}

/// What issue 4 asks for: at most `limit` times what `peer` takes.
struct Target: Codable {
    let limit: Double
    let peer: Library
}

/// One row of the report: the same work, done by each library in its cheapest documented way.
struct Workload {
    let name: String
    let title: String
    /// What an item is: "operation", "link", "step".
    let unit: String
    let payload: String
    let target: Target?
    /// Run with every thread on one processor, where waking another core does not drown what is measured.
    let onOneProcessor: Bool
    /// Whether Deferred's allocations are the same in every run, so that the committed table can hold them.
    let hasExactAllocations: Bool
    private(set) var contenders: [Contender]

    /// The same with fewer contenders.
    func with(_ libraries: [Library]) -> Workload {
        var workload = self
        workload.contenders.removeAll { !libraries.contains($0.library) }
        return workload
    }

    init(
        _ name: String, _ title: String, per unit: String, payload: String, target: Target? = nil,
        onOneProcessor: Bool = false, hasExactAllocations: Bool = true, contenders: [Contender]
    ) {
        self.name = name
        self.title = title
        self.unit = unit
        self.payload = payload
        self.target = target
        self.onOneProcessor = onOneProcessor
        self.hasExactAllocations = hasExactAllocations
        self.contenders = contenders
    }
}

struct WrongResult: Error, CustomStringConvertible {
    let description: String
}

/// Fails the sample unless the callbacks left what they should have.
func check(_ actual: Int, is expected: Int, _ what: String = "the sum of what the callbacks saw") throws {
    guard actual == expected else {
        throw WrongResult(description: "\(what) is \(actual) and should be \(expected)")
    }
}
