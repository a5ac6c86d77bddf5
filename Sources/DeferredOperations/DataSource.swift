internal import Deferred
public import Foundation

/// Work that ends when a function returns, as an operation whose outcome is a `Deferred`.
///
/// Subclass it and override ``load()``, or give it a closure:
///
/// ```swift
/// final class Checksum: DataSource<UInt32>, @unchecked Sendable {
///     let file: URL
///     init(of file: URL) {
///         self.file = file
///         super.init()
///     }
///     override func load() throws -> UInt32 { crc32(try Data(contentsOf: file)) }
/// }
///
/// Checksum(of: file).request(on: queue, deliveringOn: .main)
///     .then { label.text = "\($0)" }
/// ```
///
/// It is an `Operation`: dependencies, priority, quality of service and the queue's limits work as for any
/// other.
open class DataSource<Value: Sendable>: RequestOperation<Value>, @unchecked Sendable {
    private let body: Guarded<(@Sendable (Operation) throws -> Value)?>

    /// For subclasses, which override ``load()``.
    public override init() {
        body = Guarded(nil)
        super.init()
    }

    /// A data source that does what `body` does, on the queue's thread; it is given the operation, to look at
    /// `isCancelled`. The closure is let go when the work has ended.
    public init(_ body: @escaping @Sendable (Operation) throws -> Value) {
        self.body = Guarded(body)
        super.init()
    }

    /// Does the work, and returns or throws what is delivered. Override it; do not call `super`.
    ///
    /// Runs on the queue's thread, once, unless the operation is cancelled before. If it is cancelled while
    /// this runs, the Deferred ends at once and what this gives is dropped, but the queue's thread is taken
    /// until it returns: work that takes long looks at `isCancelled` from time to time, and may throw
    /// anything to get out.
    open func load() throws -> Value {
        guard let body = body.withLock({ $0.take() }) else {
            throw DataSourceError.notOverridden("load() of \(type(of: self))")
        }
        return try body(self)
    }

    final override func work() {
        decide(Result { try load() })
    }
}
