/// Several Deferreds as one: wait for all, for the first, or take them as they finish.
///
/// ```swift
/// DeferredList([profile, friends]).values()
///     .then { show($0) }
///     .fail { show($0) }
/// ```
///
/// The list holds handles to its inputs. Each of ``results(fileID:line:)``, ``values(fileID:line:)`` and
/// ``first(fileID:line:)`` gives a new Deferred, which is one consumer of each distinct input; one Deferred
/// may stand in a list twice. Cancelling that Deferred fails it with `CancellationError` and then cancels the
/// inputs still pending, as far as nobody else consumes them. A list's callbacks run on the thread that fires
/// the input that decided it.
public struct DeferredList<Value: Sendable>: Sendable {
    let source: Source
    let consumesErrors: Bool
    let cancelsRemaining: Bool
    /// Where the list was made.
    let fileID: StaticString
    let line: UInt

    /// Where the inputs come from.
    enum Source: Sendable {
        case given([Link])
        case limited(LimitedInputs<Value>)
        case invalid(DeferredError)
    }

    /// A list of Deferreds that are under way.
    ///
    /// - Parameters:
    ///   - deferreds: The inputs; results stand in their order.
    ///   - consumeErrors: Counts errors that arrive after the list has fired as handled. Without, they are reported unless
    ///     somebody else handles them.
    ///   - cancelsRemaining: Once the list has fired and its own callbacks have run, the inputs still pending are cancelled,
    ///     in order, as far as nobody else consumes them.
    @inlinable
    public init(
        _ deferreds: some Sequence<Deferred<Value>>, consumeErrors: Bool = false,
        cancelsRemaining: Bool = false,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        var links: [Link] = []
        links.reserveCapacity(deferreds.underestimatedCount)
        for deferred in deferreds { links.append(deferred.link) }
        self.init(links, consumeErrors, cancelsRemaining, fileID, line)
    }

    @usableFromInline
    init(
        _ links: [Link], _ consumesErrors: Bool, _ cancelsRemaining: Bool, _ fileID: StaticString,
        _ line: UInt
    ) {
        self.fileID = fileID
        self.line = line
        source = .given(links)
        self.consumesErrors = consumesErrors
        self.cancelsRemaining = cancelsRemaining
    }

    /// A list that makes its Deferreds as it goes, with at most `limit` of them under way.
    ///
    /// It starts when its first result is asked for, with any of ``results(fileID:line:)``,
    /// ``values(fileID:line:)``, ``first(fileID:line:)`` and ``completed``, and begins with the next input
    /// only when one has settled. Cancelled, or failed where ``values(fileID:line:)`` was asked for, it
    /// starts no more.
    ///
    /// ```swift
    /// DeferredList(urls, limit: 4) { fetch($0) }.results()
    /// ```
    ///
    /// - Parameters:
    ///   - inputs: What `body` is called with, in order.
    ///   - limit: How many may be under way, at least 1; less is a ``DeferredError/invalidArgument(_:)`` of every result.
    ///   - consumeErrors: As for the list of Deferreds.
    ///   - cancelsRemaining: As for the list of Deferreds.
    ///   - body: Makes the Deferred for an input. Runs on the thread that asks first, or on which one before it settled.
    public init<S: Sequence>(
        _ inputs: S, limit: Int, consumeErrors: Bool = false, cancelsRemaining: Bool = false,
        _ body: @escaping @Sendable (S.Element) -> Deferred<Value>, fileID: StaticString = #fileID,
        line: UInt = #line
    ) where S.Element: Sendable {
        self.fileID = fileID
        self.line = line
        if limit < 1 {
            source = .invalid(.invalidArgument("a DeferredList's limit must be at least 1, not \(limit)"))
        } else {
            source = .limited(LimitedInputs(Array(inputs), limit, body, fileID, line))
        }
        consumesErrors = consumeErrors
        self.cancelsRemaining = cancelsRemaining
    }

    /// All outcomes, in input order, when the last is there. Never fails of itself; `[]` at once for an empty
    /// list.
    @inlinable
    public func results(
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<[Result<Value, any Error>]> {
        start(.all, fileID, line) { inputs, _ in
            .value(inputs.map { $0.content.result() as Result<Value, any Error> })
        }
    }

    /// All values, in input order; or the first error, as it is, as soon as one fails (Twisted's
    /// `gatherResults`). `[]` at once for an empty list.
    @inlinable
    public func values(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<[Value]> {
        start(.untilFailure, fileID, line) { inputs, _ in .value(inputs.map { $0.content.value() as Value }) }
    }

    /// The first value and its place in the list. Fails only when all have failed, with the error that came
    /// last; with ``DeferredError/empty`` at once for an empty list.
    @inlinable
    public func first(
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<(index: Int, value: Value)> {
        start(.untilValue, fileID, line) { inputs, index in
            .value((index: index, value: inputs[index].content.value() as Value))
        }
    }

    /// Cancels each input, as its own ``Deferred/cancel()`` does; what a list with a limit has not begun, it
    /// never begins.
    public func cancel() {
        switch source {
        case .given(let links): for link in links { link.cancel() }
        case .limited(let inputs): inputs.cancel()
        case .invalid: break
        }
    }

    @usableFromInline
    func start<U>(
        _ rule: ListState.Rule, _ fileID: StaticString, _ line: UInt,
        _ finish: @escaping ListState.Finish
    ) -> Deferred<U> {
        let site = DeferredDiagnostic.Location(.list, fileID, line)
        func watch(
            _ inputs: [Link], limit: Int? = nil, onStop: (@Sendable () -> Void)? = nil
        ) -> Deferred<U> {
            let list = ListState(
                rule, count: inputs.count, limit: limit, consumesErrors: consumesErrors,
                cancelsRemaining: cancelsRemaining, onStop: onStop, site, finish)
            return Deferred<U>(list.start(inputs, site))
        }
        switch source {
        case .given(let links):
            return watch(links)
        case .limited(let inputs):
            inputs.addAsker()
            let deferred = watch(
                inputs.slots.map { $0.link }, limit: inputs.limit, onStop: inputs.removeAsker)
            inputs.beginSlots()
            return deferred
        case .invalid(let error):
            return .rejected(error, fileID: fileID, line: line)
        }
    }
}
