internal import Deferred
public import Foundation

/// Represents work that ends when a function returns, as an operation whose outcome is a `Deferred`.
///
/// Subclass it and override ``load()``, or create it with a closure:
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
///     .done { label.text = "\($0)" }
/// ```
///
/// Dependencies, priority, quality of service and the queue's limits work as for any other `Operation`.
open class DataSource<Value: Sendable>: RequestOperation<Value>, @unchecked Sendable {
    private let body: SpinLocked<(@Sendable (Operation) throws -> Value)?>

    /// Creates a data source of a subclass, which overrides ``load()``.
    public override init() {
        body = SpinLocked(nil)
        super.init()
    }

    /// Creates a data source that runs `body` on the queue's thread, and passes the operation to it, whose
    /// `isCancelled` it may check. The closure is released when the work has ended.
    public init(_ body: @escaping @Sendable (Operation) throws -> Value) {
        self.body = SpinLocked(body)
        super.init()
    }

    /// Does the work, and returns or throws what is delivered. Override it; do not call `super`.
    ///
    /// Runs on the queue's thread, once, unless the operation is cancelled before. If it is cancelled while this runs,
    /// the Deferred is settled at once and the result of this is dropped, but it occupies the queue's thread until it
    /// returns. Work that takes long should check `isCancelled` from time to time, and may throw any error to end.
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
