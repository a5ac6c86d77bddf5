public import Deferred
public import NIOCore

extension EventLoopFuture where Value: Sendable {
    /// Returns a Deferred with the outcome of this future. Its callbacks run on the event loop, unless they name another
    /// place.
    ///
    /// Cancelling it ends the wait only: a future knows no cancel. Where the work can be stopped, say how:
    ///
    /// ```swift
    /// let answer = channel.request(head).deferred(onCancel: { channel.close(promise: nil) })
    /// ```
    ///
    /// - Parameter onCancel: Stops the work, on the thread that cancels. What the future then fails with is dropped.
    public func deferred(
        onCancel: @escaping @Sendable () -> Void = {}, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        let (deferred, resolver) = Deferred<Value>.withResolver(
            canceller: { _ in onCancel() }, fileID: fileID, line: line)
        whenComplete { result in
            // What the stopped work fails with comes of the cancel.
            if case .failure = result, resolver.isCancelled { return }
            resolver.complete(with: result)
        }
        return deferred
    }
}

extension Deferred {
    /// Returns a future with the outcome of this Deferred, on `eventLoop`. A failure counts as handled: it is the future's.
    public func future(on eventLoop: any EventLoop) -> EventLoopFuture<Value> {
        let promise = eventLoop.makePromise(of: Value.self)
        both { promise.completeWith($0) }
        return promise.futureResult
    }
}
