/// What travels down the chains: a number, in three sizes.
///
/// `next()` is what every callback does, in every library. It allocates nothing, so that what is counted and
/// timed is the library, and it makes the outcome of a chain tell how many callbacks ran.
protocol Payload: Sendable {
    /// The name of this kind in reports.
    static var title: String { get }
    static func make(_ number: Int) -> Self
    var number: Int { get }
    func next() -> Self
}

extension Int: Payload {
    static var title: String { "Int" }
    static func make(_ number: Int) -> Int { number }
    var number: Int { self }
    @inline(__always)
    func next() -> Int { self &+ 1 }
}

/// A struct of 64 bytes: more than an existential holds in place.
struct Wide: Payload {
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

/// An object that all callbacks of a chain share; `next()` counts up in place.
///
/// `@unchecked Sendable` is sound here because every workload that calls `next()` does so from one thread at
/// a time, each call ordered after the last by the chain itself.
final class Reference: Payload, @unchecked Sendable {
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

/// Where callbacks leave what they saw, to be checked after the sample.
///
/// `@unchecked Sendable` is sound because one thread at a time writes to it, and it is read only after the
/// sample has waited for that thread.
final class Sink: @unchecked Sendable {
    private(set) var total = 0
    private(set) var count = 0

    @inline(__always)
    func add(_ number: Int) {
        total &+= number
        count &+= 1
    }
}

/// Hides from the optimiser what a value is.
@inline(never)
func opaque<Value>(_ value: Value) -> Value { value }
