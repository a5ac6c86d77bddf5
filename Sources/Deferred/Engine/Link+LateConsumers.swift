/// Consumers that attach to a settled link which has a dispatcher for them: they are notified there, and not on
/// the attaching thread (F3).
///
/// Multicast uses this for answers: what is attached to a question runs where the last delegate answered, also if
/// that was before it was attached.
///
/// The first of them marks the link as draining, as a drain loop would, and submits the drain to the dispatcher.
/// Others that attach before the drain runs are appended to the list, and are notified by the same drain. The
/// list is drained even if the dispatcher releases the work: the outcome exists, so that no consumer may be lost.
extension Link {
    /// Sets the closure that returns the dispatcher for late consumers; if that returns `nil`, they are notified on
    /// the attaching thread. It is called without a lock, once for each drain.
    func setLateDispatcher(_ dispatcher: @escaping @Sendable () -> (any Dispatcher)?) {
        let coldState = ensureColdState()
        locked { coldState.lateDispatcher = dispatcher }
    }

    /// Attaches `consumer` to a link that was idle; see above. Returns false, with nothing changed, if the link is
    /// no longer idle or has no dispatcher now.
    func attachLate(_ consumer: Link, _ lateDispatcher: @Sendable () -> (any Dispatcher)?) -> Bool {
        guard let dispatcher = lateDispatcher() else { return false }
        let word = lock()
        guard Link.isIdle(word) else {
            unlock(word)
            return false
        }
        // The drain retains this link until the consumer is dequeued.
        consumer.upstream = Upstream(self)
        activeThread = 0
        unlock(Link.append(consumer, to: word | Word.draining))
        dispatcher.dispatchGuaranteed { [self] in drainLateConsumers() }
        return true
    }

    private func drainLateConsumers() {
        let thread = Platform.currentThread
        locked { activeThread = thread }
        let consumers = takeListOrBecomeIdle(false)
        guard !consumers.isEmpty else { return }
        var loop = DrainLoop()
        loop.endStepInPlace(of: self, consumers)
    }
}

extension Deferred {
    /// Sets where callbacks without a dispatcher run that are attached once this Deferred is settled: on the dispatcher
    /// that `dispatcher` returns, or if it returns `nil` on the attaching thread. Call this before the Deferred is
    /// settled.
    package func notifyLateConsumers(on dispatcher: @escaping @Sendable () -> (any Dispatcher)?) {
        link.setLateDispatcher(dispatcher)
    }
}
