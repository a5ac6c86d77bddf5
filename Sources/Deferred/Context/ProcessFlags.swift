internal import Synchronization

/// What is on in the whole process, in one byte: where all of it is off, a single relaxed load says so.
enum ProcessFlags {
    /// Something records: see ``Recording``.
    static let records: UInt8 = 1
    /// Closures carry task-local values: see ``DeferredTaskLocals``. Once set, it stays set.
    static let carriesTaskLocals: UInt8 = 2

    private static let flags = Atomic<UInt8>(0)

    /// Whether everything is off.
    @inline(__always)
    static var areNone: Bool { flags.load(ordering: .relaxed) == 0 }

    @inline(__always)
    static func areNone(of some: UInt8) -> Bool { flags.load(ordering: .relaxed) & some == 0 }

    static func set(_ flag: UInt8, to isOn: Bool = true) {
        if isOn {
            flags.bitwiseOr(flag, ordering: .relaxed)
        } else {
            flags.bitwiseAnd(~flag, ordering: .relaxed)
        }
    }
}
