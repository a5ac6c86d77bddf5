internal import Deferred
public import Foundation

/// One request and its answer: where a ``Transport`` reports what happens.
///
/// After the end, and after a cancel, everything that is reported is ignored. Release it then: it retains the transfer.
public final class TransportExchange: Sendable {
    private let transfer: Transfer
    private let round: Int

    init(_ transfer: Transfer, _ round: Int) { (self.transfer, self.round) = (transfer, round) }

    deinit { transfer.abandon(round) }

    /// Takes an event. Thread-safe; events that are reported at once from several threads are taken in any order.
    ///
    /// Returns when the event has been handled: when a piece of the body has been written, or is in a buffer. If the
    /// session has a limit (`bytesPerSecond`), a piece is held up for as long as it takes at that rate, or until the
    /// transfer ends. No closure of the user's runs within the call.
    public func receive(_ event: TransportEvent) {
        switch event {
        case .head(let response): transfer.receive(response, of: round)
        case .bytes(let data): transfer.receive(data, of: round)
        case .sent(let byteCount): transfer.handle(.sent(byteCount), of: round)
        case .metrics(let metrics): transfer.receive(metrics, of: round)
        case .redirect(let response), .challenge(let response): transfer.end(.answered(response), of: round)
        case .end(let error): transfer.end(.completed(error), of: round)
        }
    }

    /// Whether the request is no longer wanted: it was cancelled, or has ended.
    public var isCancelled: Bool { !transfer.isCurrent(round) }

    /// Whether a transport that can (``Transport/canDeliverAsSent``) is to leave a coding on the body
    /// (``TransferOptions/storesAsSent``).
    public var wantsBodyAsSent: Bool { transfer.storesAsSent }

    /// Whether the body of a redirect is wanted. If not, a client that has read it by itself reports `redirect`.
    public func wantsBody(of redirect: HTTPURLResponse) -> Bool { transfer.wantsBody(of: redirect) }

    /// Makes the body of the request anew, for a client that sends the request a second time by itself, because a kept
    /// connection turned out to be closed.
    ///
    /// - Parameter use: Receives the stream, on a queue of the transfer's; nil if the body cannot be made again: the
    ///   transfer has failed then.
    public func makeBodyStream(_ use: @escaping @Sendable (InputStream?) -> Void) {
        transfer.makeBodyStream(
            of: round, DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(use) : use)
    }
}
