internal import Deferred
internal import Synchronization

/// Notes which task-local values closures see: of a key that is carried (``DeferredTaskLocals``), and of one that is not.
///
/// Keys are named for the whole process. These are used by no test that needs them not to be.
public final class TaskLocalProbe: Sendable {
    /// The value of a key that is named to ``DeferredTaskLocals/carry(_:)`` when the first probe is created.
    @TaskLocal public static var carried = "none"
    /// The value of a key that is never named.
    @TaskLocal public static var plain = "none"

    private static let naming: Void = DeferredTaskLocals.carry($carried)

    /// What a closure has seen.
    public struct Sight: Hashable, Sendable, CustomStringConvertible {
        /// The value of the key that is carried.
        public let carried: String
        /// The value of the key that is not carried.
        public let plain: String

        /// Creates one.
        public init(carried: String, plain: String) { (self.carried, self.plain) = (carried, plain) }

        /// Both values.
        public var description: String { "\(carried)/\(plain)" }
    }

    private let sights = Mutex<[Sight]>([])

    /// Creates a probe that has noted nothing.
    public init() { Self.naming }

    /// What has been noted.
    public var all: [Sight] { sights.withLock { $0 } }

    /// Notes what the caller sees.
    public func note() {
        let sight = Sight(carried: Self.carried, plain: Self.plain)
        sights.withLock { $0.append(sight) }
    }

    /// Notes what the caller sees, and returns `value`.
    public func noting<Value>(_ value: Value) -> Value {
        note()
        return value
    }

    /// Runs `body` with both values `name`.
    @discardableResult
    public static func with<R>(_ name: String, _ body: () throws -> R) rethrows -> R {
        try $carried.withValue(name) { try $plain.withValue(name, operation: body) }
    }
}
