/// A list to which inputs are added while others settle: of a question, where delegates answer while others are yet to
/// be asked. It is decided as soon as the inputs added so far decide it.
package struct GrowingList<Value: Sendable, Outcome: Sendable>: Sendable {
    /// The list's result. Its cancel cancels the inputs, as that of every list does (D4).
    package let deferred: Deferred<Outcome>
    private let observer: ListObserver
    private let site: DeferredDiagnostic.Location

    private init(
        _ rule: ListObserver.Rule, cancelsRemaining: Bool, _ site: DeferredDiagnostic.Location,
        _ finish: @escaping ListObserver.Finish
    ) {
        observer = ListObserver(
            rule, count: 0, addsInputs: true, consumesErrors: cancelsRemaining,
            cancelsRemaining: cancelsRemaining, site, finish)
        self.site = site
        deferred = Deferred<Outcome>(observer.open())
    }

    /// Whether further inputs change nothing.
    package var isDecided: Bool { !observer.isUndecided }

    /// Adds an input. One call at a time.
    package func add(_ input: Deferred<Value>) {
        DrainLoop.with { observer.add(input.link, site, in: &$0) }
    }

    /// Cancels a list whose result nobody has received, with its inputs; their failures are ignored.
    package func leave() {
        deferred.disownFailure()
        deferred.cancel()
    }

    /// Adds no more inputs.
    package func close() {
        DrainLoop.with { observer.close(cutOff: nil, missing: [], in: &$0) }
    }
}

extension GrowingList where Outcome == [Value] {
    /// Creates a list that waits for the values of all, in the order added, or fails with the first failure.
    package static func values(fileID: StaticString, line: UInt) -> GrowingList {
        GrowingList(
            .untilFailure, cancelsRemaining: false, DeferredDiagnostic.Location(.list, fileID, line)
        ) { inputs, _ in
            .value(inputs.map { $0.payload.value() as Value })
        }
    }
}

extension GrowingList where Outcome == Value? {
    /// Creates a list that waits for the first value which `predicate` accepts, or fails with a failure that comes
    /// before; it has nil if there is neither. Once it is settled, the remaining inputs are cancelled, and their
    /// failures are ignored. `predicate` runs on the thread that settles an input.
    package static func first(
        fileID: StaticString, line: UInt, where predicate: @escaping @Sendable (Value) -> Bool
    ) -> GrowingList {
        GrowingList(
            .untilAccepted { predicate($0.value()) }, cancelsRemaining: true,
            DeferredDiagnostic.Location(.list, fileID, line)
        ) { inputs, _ in
            // The input that decided; such a list keeps no other that has settled.
            .value(inputs.last.map { $0.payload.value() as Value })
        }
    }
}
