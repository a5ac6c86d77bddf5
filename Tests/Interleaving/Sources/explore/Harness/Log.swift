import CInterleaving

/// An access of a scenario's own. It makes threads dependent, so that every order of their accesses is run.
final class Cell: @unchecked Sendable {
    private let cell = il_cell_new()

    deinit { il_cell_end(cell) }

    func write() { il_point(cell, IL_WRITE) }
    func read() { il_point(cell, IL_READ) }
}

/// The entries so far, in order. Needs no lock: one thread of a run is executed at a time.
final class Log: @unchecked Sendable {
    private(set) var entries: [String] = []
    private var inside: [String: Int] = [:]
    private let cell = Cell()

    func add(_ entry: String) {
        cell.write()
        entries.append(entry)
    }

    /// Records a callback. Callbacks of one group never run at the same time.
    func within(_ entry: String, group: String = "") {
        cell.write()
        inside[group, default: 0] += 1
        if inside[group]! > 1 { il_fail("two callbacks of one Deferred ran at the same time") }
        entries.append(entry)
        cell.write()
        inside[group]! -= 1
    }

    func count(_ entry: String) -> Int { entries.count { $0 == entry } }
    func has(_ entry: String) -> Bool { entries.contains(entry) }
    var text: String { entries.joined(separator: " ") }
    /// The index of the first such entry; -1 if there is none.
    func place(_ entry: String) -> Int { entries.firstIndex(of: entry) ?? -1 }
}

/// A variable, which threads of a run share.
final class Box<T>: @unchecked Sendable {
    var value: T?

    init(_ value: T?) { self.value = value }

    /// Takes the value out, for a thread that releases the last reference. (Not inlined: the optimiser would
    /// release it before the box is empty.)
    @inline(never)
    func take() -> T? {
        il_point_references(IL_WRITE)
        let taken = value
        value = nil
        return taken
    }
}
