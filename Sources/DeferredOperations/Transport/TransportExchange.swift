internal import Deferred
public import Foundation

/// What an exchange reports to: a transfer. Events of a round that is over are dropped.
protocol TransportListener: AnyObject, Sendable {
    /// Whether a coding is to be left on the body.
    var storesAsSent: Bool { get }
    /// Takes an event, and returns when it has been handled.
    func receive(_ event: TransportEvent, of round: Int)
    /// Ends an exchange that the transport has released.
    func abandon(_ round: Int)
    func isCurrent(_ round: Int) -> Bool
    /// Whether the body of a redirect is wanted: it will not be followed, or perhaps not.
    func wantsBody(of redirect: HTTPURLResponse) -> Bool
    /// Makes the body of the present request anew, and passes it to `use`; nil if that cannot be done.
    func makeBodyStream(of round: Int, _ use: @escaping @Sendable (InputStream?) -> Void)
}

/// One request and its answer: where a ``Transport`` reports what happens.
///
/// After the end, and after a cancel, everything that is reported is ignored. Release it then: it retains the listener.
public final class TransportExchange: Sendable {
    private let listener: any TransportListener
    private let round: Int

    init(_ listener: any TransportListener, _ round: Int) { (self.listener, self.round) = (listener, round) }

    deinit { listener.abandon(round) }

    /// Takes an event. Thread-safe; events that are reported at once from several threads are taken in any order.
    ///
    /// Returns when the event has been handled: when a piece of the body has been written, or is in a buffer. If the
    /// session has a limit (`bytesPerSecond`), a piece is held up for as long as it takes at that rate, or until the
    /// transfer ends. No closure of the user's runs within the call.
    public func receive(_ event: TransportEvent) { listener.receive(event, of: round) }

    /// Whether the request is no longer wanted: it was cancelled, or has ended.
    public var isCancelled: Bool { !listener.isCurrent(round) }

    /// Whether a transport that can (``Transport/canDeliverAsSent``) is to leave a coding on the body
    /// (``TransferOptions/storesAsSent``).
    public var wantsBodyAsSent: Bool { listener.storesAsSent }

    /// Whether the body of a redirect is wanted. If not, a client that has read it by itself reports `redirect`.
    public func wantsBody(of redirect: HTTPURLResponse) -> Bool { listener.wantsBody(of: redirect) }

    /// Makes the body of the request anew, for a client that sends the request a second time by itself, because a kept
    /// connection turned out to be closed.
    ///
    /// - Parameter use: Receives the stream, on a queue of the transfer's; nil if the body cannot be made again: the
    ///   transfer has failed then.
    public func makeBodyStream(_ use: @escaping @Sendable (InputStream?) -> Void) {
        listener.makeBodyStream(
            of: round, DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(use) : use)
    }
}
