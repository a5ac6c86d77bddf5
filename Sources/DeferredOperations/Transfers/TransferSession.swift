#if canImport(FoundationNetworking)
internal import Foundation
#else
public import Foundation
#endif

/// What transfers share: a ``Transport``, which carries their requests, and a limit of its bytes per second. One for
/// all, ``shared``, unless you want another transport, configuration or limit.
///
/// ```swift
/// let slow = TransferSession(bytesPerSecond: 100_000)
/// DownloadDataSource(url, to: file, session: slow).request(on: queue)
/// ```
///
/// How many connections there are to a host is for the operation queue to decide, or a ``DataSourceManager``.
public final class TransferSession: Sendable {
    /// The session that transfers use unless another is passed to them: a ``FoundationTransport`` without a limit.
    public static let shared = TransferSession()

    /// Carries the requests.
    public let transport: any Transport
    /// Where the transport is called.
    let control: DispatchQueue
    let pacer: TransferPacer?
    /// How many pieces are held up now in a way that keeps its transfers from receiving anything: they are not silent.
    let delayedCalls: Locked<Int>
    /// Why no request can be sent: a parameter is invalid.
    let fault: String?

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - transport: Carries the requests.
    ///   - bytesPerSecond: The limit for what the bodies of all its transfers take together, 1 or more; nil
    ///     for none. Requests of a session with a smaller one fail with
    ///     ``DataSourceError/invalidRequest(_:reason:)``. A transfer that is delayed by this is not silent.
    ///     With a ``FoundationTransport`` on Linux, where one queue serves all of them, it delays other sessions'
    ///     transfers, too.
    public init(transport: any Transport = FoundationTransport(), bytesPerSecond: Int64? = nil) {
        self.transport = transport
        let foundation = transport as? FoundationTransport
        control = foundation?.control ?? DispatchQueue(label: "DeferredOperations.TransferSession")
        let delayedCalls = foundation == nil ? Locked(0) : Self.delayedCalls
        self.delayedCalls = delayedCalls
        fault = bytesPerSecond.flatMap { $0 < 1 ? "bytesPerSecond must be 1 or more, is \($0)" : nil }
        pacer = bytesPerSecond.map { TransferPacer(bytesPerSecond: $0, counting: delayedCalls) }
    }

    /// Creates a session whose ``FoundationTransport`` has a configuration of your own.
    ///
    /// - Parameters:
    ///   - configuration: As for ``FoundationTransport/init(configuration:)``.
    ///   - bytesPerSecond: As for ``init(transport:bytesPerSecond:)``.
    public convenience init(configuration: URLSessionConfiguration, bytesPerSecond: Int64? = nil) {
        self.init(
            transport: FoundationTransport(configuration: configuration), bytesPerSecond: bytesPerSecond)
    }

    #if canImport(FoundationNetworking)
    /// One queue serves all of Foundation's sessions of a process, so that a delay is one of all of them.
    private static let delayedCalls = Locked(0)
    #else
    private static var delayedCalls: Locked<Int> { Locked(0) }
    #endif
}

/// Limits how many bytes of bodies a session takes in per second, over all its transfers.
///
/// The transport's call is delayed after each piece of a body for as long as the piece takes at that rate.
/// Nothing is read from the network meanwhile, so that TCP slows the servers down, and no memory is used.
final class TransferPacer: Sendable {
    private let bytesPerSecond: Double
    /// When the bytes taken so far are due at the rate.
    private let due = Locked(ContinuousClock.now)
    private let delayedCalls: Locked<Int>

    /// How often a delayed call checks whether its transfer is still running, in seconds.
    private static let checkInterval = 0.05

    init(bytesPerSecond: Int64, counting delayedCalls: Locked<Int>) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        self.delayedCalls = delayedCalls
    }

    /// Calls `receive` with `byteCount` bytes that have arrived, and returns when they are due, or when
    /// `isWanted` returns false.
    func pace(_ byteCount: Int, while isWanted: () -> Bool, _ receive: () -> Void) {
        delayedCalls.withLock { $0 += 1 }
        defer { delayedCalls.withLock { $0 -= 1 } }
        receive()
        let end = due.withLock { due in
            due = max(due, .now) + .seconds(Double(byteCount) / bytesPerSecond)
            return due
        }
        while case let left = (end - .now) / .seconds(1), left > 0, isWanted() {
            Thread.sleep(forTimeInterval: min(left, Self.checkInterval))
        }
    }
}
