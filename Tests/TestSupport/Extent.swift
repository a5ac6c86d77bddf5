import Foundation

/// How far tests go that could go on for ever: a little in `swift test`, further where a variable says so, as in
/// `.ci/nightly`.
public enum Extent {
    /// The length of chains, lines and lists, and the depth of nesting; `DEFERRED_DEPTH` sets another. On the stack of 512
    /// KiB that such tests have, a recursion of 105 bytes a link overflows: less than any frame of a debug build has, with
    /// what it calls.
    public static let depth = variable("DEFERRED_DEPTH") ?? 5_000

    /// The number of rounds in which threads meet; `DEFERRED_ROUNDS` sets another. Fewer in a debug build, where each
    /// takes longer, and fewest under a sanitizer there.
    public static let rounds =
        variable("DEFERRED_ROUNDS") ?? (isDebug ? (isSanitized ? 300 : 500) : 2_000)

    /// The number of random programs or cases: `count`, or this share of what `DEFERRED_PROGRAMS` sets.
    public static func programs(_ count: UInt64, share: Double = 1) -> UInt64 {
        variable("DEFERRED_PROGRAMS").map { (all: UInt64) in max(1, UInt64(Double(all) * share)) } ?? count
    }

    /// The first seed of random programs; `DEFERRED_SEED` sets another.
    public static let firstSeed: UInt64 = variable("DEFERRED_SEED") ?? 20_260_000

    /// Whether this process runs under ThreadSanitizer or AddressSanitizer.
    public static let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

    #if DEBUG
    /// Whether this is a debug build.
    public static let isDebug = true
    #else
    /// Whether this is a debug build.
    public static let isDebug = false
    #endif

    private static func variable<Number: FixedWidthInteger>(_ name: String) -> Number? {
        ProcessInfo.processInfo.environment[name].flatMap { Number($0) }
    }
}
