import Comparing

/// The libraries that are measured.
enum Library: String, Codable, CaseIterable {
    case deferred = "Deferred"
    case embedded = "NIO embedded"
    case threaded = "NIO threaded"
    case openCombine = "OpenCombine"
    case task = "Swift Task"
    case continuation = "Swift continuation"
    case dispatch = "Dispatch"
}

/// One library's implementation of a workload.
struct Contender {
    let library: Library
    let timebase: Timebase
    /// The number of items (operations, links, steps) in one iteration.
    let items: Int
    /// Does the work `iterations` times; throws if a result is wrong.
    let body: (_ iterations: Int, _ stopwatch: Stopwatch) throws -> Void

    /// The same with another number of items in an iteration, for those that can have it.
    private let sized: ((_ items: Int) -> Contender)?

    init(
        _ library: Library, _ timebase: Timebase = .thread, items: Int = 1,
        body: @escaping (_ iterations: Int, _ stopwatch: Stopwatch) throws -> Void
    ) {
        self.library = library
        self.timebase = timebase
        self.items = items
        self.body = body
        sized = nil
    }

    init(
        _ library: Library, items: Int,
        sized: @escaping (_ items: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws -> Void
    ) {
        self.library = library
        self.items = items
        timebase = .thread
        body = { try sized(items, $0, $1) }
        self.sized = { Contender(library, items: $0, sized: sized) }
    }

    /// The same with at most `limit` items in an iteration, if it can have fewer.
    func limited(to limit: Int) -> Contender {
        guard items > limit, let sized else { return self }
        return sized(limit)
    }
}

/// Lets a list of contenders leave out peers that are not built.
@resultBuilder
enum ContenderList {
    static func buildBlock(_ contenders: Contender...) -> [Contender] { contenders }
    static func buildBlock(_ contenders: [Contender]) -> [Contender] { contenders }
}

/// The peer that a workload is compared with.
struct Target: Codable {
    /// The highest ratio allowed to the peer's time; nil if there is no target.
    let limit: Double?
    let peer: Library
    /// The lowest ratio that is possible, by the count of the operations that cannot be left out, if known.
    var floor: Double?
}

/// One row of the report: the same work, done by each library in its cheapest documented way.
struct Workload {
    let name: String
    let title: String
    /// The unit of an item: "operation", "link", "step".
    let unit: String
    let payload: String
    let target: Target?
    /// Whether all threads run on one processor, so that waking another core does not dominate the
    /// measurement.
    let onOneProcessor: Bool
    /// Whether Deferred allocates the same in every run, so that the committed table can contain it.
    let hasExactAllocations: Bool
    private(set) var contenders: [Contender]

    /// Returns the workload with these contenders only.
    func with(_ libraries: [Library]) -> Workload {
        var workload = self
        workload.contenders.removeAll { !libraries.contains($0.library) }
        return workload
    }

    init(
        _ name: String, _ title: String, per unit: String, payload: String, target: Target? = nil,
        onOneProcessor: Bool = false, hasExactAllocations: Bool = true,
        @ContenderList contenders: () -> [Contender]
    ) {
        self.name = name
        self.title = title
        self.unit = unit
        self.payload = payload
        self.target = target
        self.onOneProcessor = onOneProcessor
        self.hasExactAllocations = hasExactAllocations
        self.contenders = contenders()
    }
}

struct WrongResult: Error, CustomStringConvertible {
    let description: String
}

/// Throws unless the callbacks received the expected values.
func check(_ actual: Int, is expected: Int, _ what: String = "the sum of the callbacks' values") throws {
    guard actual == expected else {
        throw WrongResult(description: "\(what) is \(actual) and should be \(expected)")
    }
}
