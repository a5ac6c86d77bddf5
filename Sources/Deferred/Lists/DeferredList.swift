/// Several Deferreds as one: waits for all, for the first, or delivers their outcomes in the order of completion.
///
/// ```swift
/// DeferredList([profile, friends]).values()
///     .done { show($0) }
///     .fail { show($0) }
/// ```
///
/// The list has handles of its inputs. Each of ``results(fileID:line:)``, ``values(fileID:line:)``,
/// ``first(fileID:line:)`` and ``firstSettled(fileID:line:)`` returns a new Deferred, which is one consumer of each distinct input; one Deferred may be
/// in a list twice. Cancelling the returned Deferred fails it with `CancellationError` and then cancels the inputs
/// still pending, as far as nothing else consumes them. A list's callbacks run on the thread that completes the input
/// that decided its outcome.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public struct DeferredList<Value: Sendable>: Sendable {
    let source: Source
    let consumesErrors: Bool
    let cancelsRemaining: Bool
    /// Where the list was created.
    let fileID: StaticString
    let line: UInt

    /// The inputs.
    enum Source: Sendable {
        case given([Link])
        case limited(LimitedListHandle<Value>)
        case invalid(DeferredError)
    }

    /// Creates a list of Deferreds that exist already.
    ///
    /// - Parameters:
    ///   - deferreds: The inputs; results are in their order.
    ///   - consumesErrors: Counts errors that arrive after the list is settled as handled. Without, they are reported
    ///     unless something else handles them.
    ///   - cancelsRemaining: Once the list is settled and its own callbacks have run, cancels the inputs still
    ///     pending, as far as nothing else consumes them. A pause of the list's Deferred does not delay that.
    ///   - wrapsErrors: Wraps each input's error in a ``DeferredInputFailure``, which has the input's index. (A
    ///     `CancellationError` is not wrapped.)
    /// - Complexity: O(*n*), where *n* is the number of inputs.
    @inlinable
    public init(
        _ deferreds: some Sequence<Deferred<Value>>, consumesErrors: Bool = false,
        cancelsRemaining: Bool = false, wrapsErrors: Bool = false,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        var links: [Link] = []
        links.reserveCapacity(deferreds.underestimatedCount)
        for deferred in deferreds {
            links.append(wrapsErrors ? deferred.wrappingError(links.count).link : deferred.link)
        }
        self.init(links, consumesErrors, cancelsRemaining, fileID, line)
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

    /// Creates a list that makes its Deferreds one by one, with at most `limit` of them in progress.
    ///
    /// ```swift
    /// DeferredList(urls, limit: 4) { fetch($0) }.results()
    /// ```
    ///
    /// The list starts at its first ``results(fileID:line:)``, ``values(fileID:line:)``,
    /// ``first(fileID:line:)``, ``firstSettled(fileID:line:)`` or ``completed``. It takes the next element out of the sequence, and calls `body`
    /// with it, only when fewer than `limit` inputs are in progress; the sequence may be lazy or endless. It starts
    /// no more once it is cancelled, or once every result that was asked for is settled: `values` with the first
    /// failure, `first` with the first value, `firstSettled` with the first outcome. `values`, `first` and
    /// `firstSettled` of a list that was cancelled before its sequence ended fail with `CancellationError`; `results`
    /// then has a `CancellationError` for each element that the sequence's `underestimatedCount` counts and that was
    /// never started.
    ///
    /// - Parameters:
    ///   - inputs: The elements that `body` is called with, in order.
    ///   - limit: How many inputs may be in progress, at least 1. Every result of a list with a lower limit fails
    ///     with ``DeferredError/invalidArgument(_:)``.
    ///   - consumesErrors: As for the list of Deferreds.
    ///   - cancelsRemaining: As for the list of Deferreds.
    ///   - wrapsErrors: As for the list of Deferreds.
    ///   - body: Makes the Deferred for an element. Runs on the thread that asks for the first result, and then on
    ///     the thread that settles an input. One call at a time.
    public init<S: Sequence>(
        _ inputs: sending S, limit: Int, consumesErrors: Bool = false, cancelsRemaining: Bool = false,
        wrapsErrors: Bool = false, _ body: @escaping @Sendable (S.Element) -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) where S.Element: Sendable {
        self.fileID = fileID
        self.line = line
        if limit < 1 {
            source = .invalid(.invalidArgument("a DeferredList's limit must be at least 1, not \(limit)"))
        } else {
            let site = DeferredDiagnostic.Location(.list, fileID, line)
            source = .limited(LimitedListHandle(inputs, .count(limit), site, wrapsErrors: wrapsErrors, body))
        }
        self.consumesErrors = consumesErrors
        self.cancelsRemaining = cancelsRemaining
    }

    /// Creates a list whose `body` runs on the main actor. Otherwise behaves as the form without `on:`.
    public init<S: Sequence>(
        _ inputs: sending S, limit: Int, on _: MainActor.Type, consumesErrors: Bool = false,
        cancelsRemaining: Bool = false, wrapsErrors: Bool = false,
        _ body: @escaping @MainActor @Sendable (S.Element) -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) where S.Element: Sendable {
        self.init(
            inputs, limit: limit, consumesErrors: consumesErrors, cancelsRemaining: cancelsRemaining,
            wrapsErrors: wrapsErrors,
            { Deferred<S.Element>.resolved($0).then(on: MainActor.self, body) }, fileID: fileID, line: line)
    }

    /// Waits for all inputs, and returns their outcomes in input order. Fails only if it is cancelled; an empty list
    /// resolves it with `[]` at once.
    ///
    /// - Complexity: O(*n*), where *n* is the number of inputs.
    @inlinable
    public func results(
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<[Result<Value, any Error>]> {
        start(.all, fileID, line) { inputs, _ in
            .value(inputs.map { $0.payload.result() as Result<Value, any Error> })
        }
    }

    /// Waits for all inputs, and returns their values in input order; or fails with the first error, unchanged, as
    /// soon as an input fails (Twisted's `gatherResults`). An empty list resolves it with `[]` at once.
    ///
    /// The error does not say which input failed: create the list with `wrapsErrors`, or make that part of the error,
    /// with `mapError` on the input.
    ///
    /// - Complexity: O(*n*), where *n* is the number of inputs.
    @inlinable
    public func values(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<[Value]> {
        start(.untilFailure, fileID, line) { inputs, _ in .value(inputs.map { $0.payload.value() as Value }) }
    }

    /// Waits for the first value, and returns it with its index in the list. Fails only when all inputs have failed,
    /// with the error that came last; an empty list fails with ``DeferredError/empty`` at once.
    ///
    /// - Complexity: O(*n*), where *n* is the number of inputs.
    @inlinable
    public func first(
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<(index: Int, value: Value)> {
        start(.untilValue, fileID, line) { inputs, index in
            .value((index: index, value: inputs[0].payload.value() as Value))
        }
    }

    /// Waits for the first input to settle, with a value or an error, and returns its outcome with its index in the list
    /// (the `race` of promises). Fails only if it is cancelled; an empty list fails with ``DeferredError/empty`` at
    /// once.
    ///
    /// ```swift
    /// DeferredList([answer, refusal], cancelsRemaining: true).firstSettled()
    ///     .map { try $0.result.get() }
    /// ```
    ///
    /// The failure that it returns counts as handled. Of inputs that are settled already, it is the first in the list.
    /// A cancel fails it with `CancellationError`, then cancels the inputs still pending, as far as nothing else
    /// consumes them.
    ///
    /// - Complexity: O(*n*), where *n* is the number of inputs.
    @inlinable
    public func firstSettled(
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<(index: Int, result: Result<Value, any Error>)> {
        start(.untilSettled, fileID, line) { inputs, index in
            .value((index: index, result: inputs[0].payload.result() as Result<Value, any Error>))
        }
    }

    /// Cancels each input, as its own ``Deferred/cancel()`` does. A list with a limit starts no further input.
    ///
    /// - Complexity: O(*n*), where *n* is the number of inputs.
    public func cancel() {
        switch source {
        case .given(let links): Link.cancel(links)
        case .limited(let handle): handle.inputs.cancel()
        case .invalid: break
        }
    }

    @usableFromInline
    func start<U>(
        _ rule: ListObserver.Rule, _ fileID: StaticString, _ line: UInt,
        _ finish: @escaping ListObserver.Finish
    ) -> Deferred<U> {
        observe(rule, fileID, line, nil, finish).deferred
    }

    /// Observes the inputs; returns the Deferred for the result, and what settles it.
    func observe<U>(
        _ rule: ListObserver.Rule, _ fileID: StaticString, _ line: UInt, _ backlog: Backlog?,
        _ finish: @escaping ListObserver.Finish
    ) -> (deferred: Deferred<U>, observer: ListObserver?) {
        let site = DeferredDiagnostic.Location(.list, fileID, line)
        switch source {
        case .given(let links):
            let list = ListObserver(
                rule, count: links.count, consumesErrors: consumesErrors, cancelsRemaining: cancelsRemaining,
                site, finish)
            return (Deferred<U>(list.start(links, site)), list)
        case .limited(let handle):
            let list = ListObserver(
                rule, count: 0, addsInputs: true, consumesErrors: consumesErrors,
                cancelsRemaining: cancelsRemaining, owner: handle.inputs, site, finish)
            let deferred = Deferred<U>(list.open())
            handle.inputs.join(list, backlog)
            return (deferred, list)
        case .invalid(let error):
            return (.rejected(error, fileID: fileID, line: line), nil)
        }
    }
}

/// The error of an input of a ``DeferredList`` that was created with `wrapsErrors`.
public struct DeferredInputFailure: Error, CustomStringConvertible {
    /// The input's index in the list.
    public let index: Int
    /// The input's error.
    public let error: any Error

    /// Creates the error of the input at `index`.
    public init(index: Int, error: any Error) {
        self.index = index
        self.error = error
    }

    /// The index and the error: `input 3: not found`.
    public var description: String { "input \(index): \(error)" }
}

extension Deferred {
    @usableFromInline
    func wrappingError(_ index: Int) -> Deferred<Value> {
        mapError { $0 is CancellationError ? $0 : DeferredInputFailure(index: index, error: $0) }
    }
}
