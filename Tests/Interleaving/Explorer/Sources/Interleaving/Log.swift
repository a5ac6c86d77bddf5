import CInterleaving

/// An access of a scenario's own. It makes threads dependent, so that every order of their accesses is run.
public final class Cell: @unchecked Sendable {
    private let cell = il_cell_new()

    /// Creates a cell.
    public init() {}

    deinit { il_cell_end(cell) }

    /// Comes before or after each other access.
    public func write() { il_point(cell, IL_WRITE) }
    /// Comes before or after each write.
    public func read() { il_point(cell, IL_READ) }
}

/// The entries so far, in order. Needs no lock: one thread of a run is executed at a time.
public final class Log: @unchecked Sendable {
    /// Returns the entries.
    public private(set) var entries: [String] = []
    private var inside: [String: Int] = [:]
    private let cell = Cell()

    /// Creates an empty log.
    public init() {}

    /// Adds an entry.
    public func add(_ entry: String) {
        cell.write()
        entries.append(entry)
    }

    /// Records a callback. Callbacks of one group never run at the same time.
    public func within(_ entry: String, group: String = "") {
        cell.write()
        inside[group, default: 0] += 1
        if inside[group]! > 1 { il_fail("two callbacks of one group ran at the same time") }
        entries.append(entry)
        cell.write()
        inside[group]! -= 1
    }

    /// Counts the entries that are equal to this one.
    public func count(_ entry: String) -> Int { entries.count { $0 == entry } }
    /// Returns whether there is such an entry.
    public func has(_ entry: String) -> Bool { entries.contains(entry) }
    /// Returns the entries, with spaces between them.
    public var text: String { entries.joined(separator: " ") }
    /// The index of the first such entry; -1 if there is none.
    public func place(_ entry: String) -> Int { entries.firstIndex(of: entry) ?? -1 }
}

/// A variable, which threads of a run share.
public final class Box<T>: @unchecked Sendable {
    /// Returns what it contains.
    public var value: T?

    /// Creates a box with a value.
    public init(_ value: T?) { self.value = value }

    /// Takes the value out, for a thread that releases the last reference. (Not inlined: the optimiser would
    /// release it before the box is empty.)
    @inline(never)
    public func take() -> T? {
        il_point_references(IL_WRITE)
        let taken = value
        value = nil
        return taken
    }
}
