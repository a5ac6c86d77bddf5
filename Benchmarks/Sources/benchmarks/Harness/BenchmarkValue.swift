/// A value that is passed down the chains: a number, in three sizes.
///
/// `next()` is the work of every callback, in every library. It allocates nothing, so that only the library
/// is counted and timed, and the outcome of a chain shows how many callbacks ran.
protocol BenchmarkValue: Sendable {
    /// The name of this type in reports.
    static var title: String { get }
    static func make(_ number: Int) -> Self
    var number: Int { get }
    func next() -> Self
}

extension Int: BenchmarkValue {
    static var title: String { "Int" }
    static func make(_ number: Int) -> Int { number }
    var number: Int { self }
    @inline(__always)
    func next() -> Int { self &+ 1 }
}

/// A struct of 64 bytes, which does not fit into an existential's inline buffer.
struct Wide: BenchmarkValue {
    static var title: String { "64-byte struct" }
    var number: Int
    private var others = (0, 0, 0, 0, 0, 0, 0)

    static func make(_ number: Int) -> Wide { Wide(number: number) }

    private init(number: Int) {
        self.number = number
    }

    @inline(__always)
    func next() -> Wide {
        var next = self
        next.number &+= 1
        return next
    }
}

/// An object that all callbacks of a chain share; `next()` increments it in place.
///
/// Sound as `@unchecked Sendable`: every workload calls `next()` from one thread at a time, and the chain
/// orders the calls.
final class Reference: BenchmarkValue, @unchecked Sendable {
    static var title: String { "class" }
    private(set) var number: Int

    static func make(_ number: Int) -> Reference { Reference(number: number) }

    private init(number: Int) {
        self.number = number
    }

    @inline(__always)
    func next() -> Reference {
        number &+= 1
        return self
    }
}

/// Collects the values that callbacks received, to be checked after the sample.
///
/// Sound as `@unchecked Sendable`: one thread at a time writes to it, and it is read only after the sample
/// has waited for that thread.
final class ValueSink: @unchecked Sendable {
    private(set) var total = 0
    private(set) var count = 0

    @inline(__always)
    func add(_ number: Int) {
        total &+= number
        count &+= 1
    }
}

/// Hides the value from the optimiser.
@inline(never)
func opaque<Value>(_ value: Value) -> Value { value }
