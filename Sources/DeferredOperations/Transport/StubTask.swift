internal import Deferred
internal import Foundation

/// Performs the steps of an answer, one after another, where the call is made that lets the next one happen.
///
/// Decides under its lock what is next, and reports it after that: an event may lead to another call of this.
final class StubTask: TransportTask {
    private struct State: ~Copyable {
        /// Nil after the end, and after a cancel.
        var exchange: TransportExchange?
        var steps: ArraySlice<StubTransport.Step> = []
        var isPaused = false
        /// Whether a call is performing steps, or the next one waits for a gate or a timer.
        var isBusy = false
        var delay: (any DelayedWork)?
        /// Called once, when the exchange has ended or is cancelled.
        var onEnd: (@Sendable () -> Void)?

        mutating func takeSteps() -> ArraySlice<StubTransport.Step> {
            defer { steps = [] }
            return steps
        }
    }

    private let state: Locked<State>
    private let url: URL
    private let timer: any DelayedDispatcher

    init(
        _ exchange: TransportExchange, _ url: URL, _ timer: any DelayedDispatcher,
        onEnd: @escaping @Sendable () -> Void
    ) {
        state = Locked(State(exchange: exchange, onEnd: onEnd))
        (self.url, self.timer) = (url, timer)
    }

    func play(_ steps: [StubTransport.Step]) {
        state.withLock { $0.steps = steps[...] }
        proceed()
    }

    func pause() { state.withLock { $0.isPaused = true } }

    func resume() {
        state.withLock { $0.isPaused = false }
        proceed()
    }

    func cancel() {
        // Released without the lock: they are the user's, or the transfer's.
        let (_, delay, onEnd, _) = state.withLock { state in
            (state.exchange.take(), state.delay.take(), state.onEnd.take(), state.takeSteps())
        }
        delay?.cancel()
        onEnd?()
    }

    /// Performs steps until one has to wait, unless that is being done.
    private func proceed() {
        while let (step, exchange) = next() { perform(step, exchange) }
    }

    private func next() -> (StubTransport.Step, TransportExchange)? {
        state.withLock { state in
            guard !state.isBusy, !state.isPaused, let exchange = state.exchange,
                let step = state.steps.popFirst()
            else { return nil }
            state.isBusy = true
            return (step, exchange)
        }
    }

    private func perform(_ step: StubTransport.Step, _ exchange: TransportExchange) {
        switch step {
        case .wait(let gate):
            gate.both { [self] (result: Result<Void, any Error>) -> Void in
                if case .failure(let error) = result { end(exchange, error) }
                unblock()
                proceed()
            }
            return
        case .delay(let time):
            let delay = timer.dispatch(after: time) { [self] in
                unblock()
                proceed()
            }
            // It may have expired by now, or have been cancelled.
            let (isWanted, _) = state.withLock { state -> (Bool, (any DelayedWork)?) in
                if state.exchange == nil || !state.isBusy { return (false, nil) }
                defer { state.delay = delay }
                return (true, state.delay)
            }
            if !isWanted { delay.cancel() }
            return
        case .head(let status, let headers):
            let response = HTTPURLResponse(
                url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
            if let response { exchange.receive(.head(response)) }
        case .bytes(let data): exchange.receive(.bytes(data))
        case .sent(let byteCount): exchange.receive(.sent(byteCount))
        case .end: end(exchange, nil)
        case .fail(let error): end(exchange, error)
        case .event(let event): exchange.receive(event)
        case .call(let body): body(exchange)
        }
        unblock()
    }

    private func unblock() {
        // The work of a timer is the user's: released without the lock.
        _ = state.withLock { state in
            state.isBusy = false
            return state.delay.take()
        }
    }

    private func end(_ exchange: TransportExchange, _ error: (any Error)?) {
        let onEnd = state.withLock { $0.onEnd.take() }
        onEnd?()
        exchange.receive(.end(error))
    }
}
