internal import CInterleaving
internal import Synchronization

/// Takes the place of `Synchronization.Atomic` in the module: every access is a scheduling point.
///
/// All threads of a run are fibers of one thread of the system, so plain loads and stores are enough. The
/// value is in a cell of the scheduler's, which reports an access after the end of the atomic's lifetime.
///
/// Sound as `@unchecked Sendable`: one fiber runs at a time, and switches only at scheduling points.
struct Atomic<Value: AtomicRepresentable>: ~Copyable, @unchecked Sendable {
    private let cell: UnsafeMutablePointer<Value>

    init(_ value: consuming Value) {
        cell = il_cell_new().assumingMemoryBound(to: Value.self)
        cell.initialize(to: value)
    }

    deinit { il_cell_end(cell) }

    @inline(__always)
    func load(ordering: AtomicLoadOrdering) -> Value {
        il_point(cell, IL_READ)
        return cell.pointee
    }

    @inline(__always)
    func store(_ value: consuming Value, ordering: AtomicStoreOrdering) {
        il_point(cell, IL_WRITE)
        cell.pointee = value
    }

    @inline(__always)
    func exchange(_ value: consuming Value, ordering: AtomicUpdateOrdering) -> Value {
        il_point(cell, IL_WRITE)
        let old = cell.pointee
        cell.pointee = value
        return old
    }

    /// Takes the lock that the lowest bit of the value is, once that is clear.
    @inline(__always)
    private func takeLock() {
        il_lock(cell)
    }
}

extension Atomic where Value: Equatable {
    @inline(__always)
    func compareExchange(
        expected: Value, desired: Value, ordering: AtomicUpdateOrdering
    ) -> (exchanged: Bool, original: Value) {
        il_point(cell, IL_WRITE)
        let old = cell.pointee
        if old == expected { cell.pointee = desired }
        return (old == expected, old)
    }

    @inline(__always)
    func weakCompareExchange(
        expected: Value, desired: Value, ordering: AtomicUpdateOrdering
    ) -> (exchanged: Bool, original: Value) {
        compareExchange(expected: expected, desired: desired, ordering: ordering)
    }
}

extension Atomic where Value: FixedWidthInteger {
    @inline(__always)
    private func update(_ change: (Value) -> Value) -> (oldValue: Value, newValue: Value) {
        il_point(cell, IL_WRITE)
        let old = cell.pointee
        cell.pointee = change(old)
        return (old, cell.pointee)
    }

    @discardableResult
    @inline(__always)
    func wrappingAdd(_ amount: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update { $0 &+ amount }
    }

    @discardableResult
    @inline(__always)
    func add(_ amount: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update { $0 + amount }
    }

    @discardableResult
    @inline(__always)
    func wrappingSubtract(
        _ amount: Value, ordering: AtomicUpdateOrdering
    ) -> (oldValue: Value, newValue: Value) {
        update { $0 &- amount }
    }

    @discardableResult
    @inline(__always)
    func subtract(_ amount: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update { $0 - amount }
    }

    @discardableResult
    @inline(__always)
    func bitwiseOr(_ bits: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update { $0 | bits }
    }

    @discardableResult
    @inline(__always)
    func bitwiseAnd(_ bits: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update { $0 & bits }
    }
}

extension Atomic where Value == UInt {
    /// Takes the lock in the lowest bit, in one step that is enabled only while nobody has it.
    @inline(__always)
    func lockLowestBit() -> UInt {
        takeLock()
        let seen = cell.pointee
        cell.pointee = seen | 1
        return seen
    }
}
