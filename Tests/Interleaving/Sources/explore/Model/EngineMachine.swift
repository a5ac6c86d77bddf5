import Deferred
import DeferredTesting
import TestSupport

/// The library itself as a machine for programs.
///
/// Sound as `@unchecked Sendable`, as all in this file: a program runs on one thread.
final class EngineMachine: Machine, @unchecked Sendable {
    typealias Handle = any Position
    typealias Trigger = Deferred<Datum>.Resolver

    var pass: () -> Void = {}
    private let dispatcher = QueueingDispatcher()
    /// One that nothing else retains, until the program releases it.
    private var releasedDispatcher: QueueingDispatcher? = QueueingDispatcher()
    private let clock = ManualClock()
    /// The number of closures that the engine retains.
    private(set) var liveClosures = 0

    func source(_ id: Int, canceller: ((Trigger) -> Void)?) -> Handle {
        guard let canceller else { return position(Deferred<Datum>(line: UInt(id))) }
        let held = Held(self, canceller)
        return position(Deferred<Datum>(canceller: { held.body($0) }, line: UInt(id)))
    }

    func sourceWithResolver(_ id: Int, canceller: ((Trigger) -> Void)?) -> (Handle, Trigger) {
        guard let canceller else {
            let (deferred, resolver) = Deferred<Datum>.withResolver(line: UInt(id))
            return (position(deferred), resolver)
        }
        let held = Held(self, canceller)
        let (deferred, resolver) = Deferred<Datum>.withResolver(
            canceller: { held.body($0) }, line: UInt(id))
        return (position(deferred), resolver)
    }

    func settled(_ id: Int, _ outcome: ModelOutcome) -> Handle {
        switch outcome {
        case .value(let value): position(.resolved(value, line: UInt(id)))
        case .failure(let fault): position(.rejected(fault.error, line: UInt(id)))
        }
    }

    func complete(_ handle: Handle, _ outcome: ModelOutcome, at site: Int) -> Bool {
        let deferred = handle.plain
        return switch outcome {
        case .value(let value): deferred.resolve(value, line: UInt(site))
        case .failure(let fault): deferred.reject(fault.error, line: UInt(site))
        }
    }

    func complete(_ resolver: Trigger, _ outcome: ModelOutcome, at site: Int) -> Bool {
        resolver.complete(with: outcome.result, line: UInt(site))
    }

    func isCancelled(_ resolver: Trigger) -> Bool { resolver.isCancelled }

    func follow(_ handle: Handle, _ other: Handle, at site: Int) {
        handle.plain.follow(other.plain, line: UInt(site))
    }

    func follow(_ resolver: Trigger, _ other: Handle) { resolver.follow(other.plain) }

    func isPlain(_ handle: Handle) -> Bool { handle.isPlain }

    func attach(
        _ id: Int, to handle: Handle, _ callback: Callback, _ body: @escaping CallbackBody,
        atEnd: (() -> Void)?
    ) -> Handle {
        let dispatcher: (any Dispatcher)? =
            switch callback.dispatcher {
            case nil: nil
            case .manual: self.dispatcher
            case .inline: InlineDispatcher()
            case .dropping: DroppingDispatcher()
            case .released: releasedDispatcher
            }
        let attaching = Attaching(
            id: UInt(id), dispatcher: dispatcher, held: Held(self, body, atEnd: atEnd))
        // Objects used in this call are released at its end, whatever the optimiser does.
        return withExtendedLifetime(attaching) {
            position(handle.attach(callback.form, isNested: callback.isNested, attaching))
        }
    }

    func shielded(_ id: Int, _ handle: Handle) -> Handle { handle.shielded(UInt(id)) }

    func timeout(_ id: Int, _ handle: Handle) -> Handle {
        position(handle.plain.timeout(.seconds(1), timer: clock, line: UInt(id)))
    }

    func expire() { clock.advance(by: .seconds(1)) }

    func finally(_ handle: Handle, id: Int, acts: Bool, _ finalizer: @escaping (ModelOutcome) -> Void) {
        let held = Held(self, finalizer)
        handle.finally { held.body($0) }
    }

    func list(_ id: Int, _ inputs: [Handle], _ rule: ListRule, _ options: ListOptions) -> Handle {
        let list = DeferredList(
            inputs.map(\.plain), consumesErrors: options.consumesErrors,
            cancelsRemaining: options.cancelsRemaining)
        switch rule {
        case .results:
            return Typed(list.results(line: UInt(id))) { .outcomes($0.map(ModelOutcome.init)) }
        case .values:
            return Typed(list.values(line: UInt(id))) { .values($0) }
        case .first:
            return Typed(list.first(line: UInt(id))) { .place($0.index, $0.value) }
        case .firstSettled:
            return Typed(list.firstSettled(line: UInt(id))) { .settled($0.index, ModelOutcome($0.result)) }
        case .gather:
            guard inputs.count >= 2 else { return Typed(gather(line: UInt(id))) { _ in .values([]) } }
            return Typed(gather(inputs[0].plain, inputs[1].plain, line: UInt(id))) {
                .values([$0.0, $0.1])
            }
        }
    }

    func limitedList(
        _ id: Int, _ count: Int, _ limit: Int, _ rule: ListRule, _ body: @escaping (Int) -> Handle?
    ) -> Handle {
        let held = Held(self, body)
        let list = DeferredList(
            0..<count, limit: limit, { held.body($0)?.plain ?? .resolved(.number(0)) }, line: UInt(id))
        switch rule {
        case .first: return Typed(list.first(line: UInt(id))) { .place($0.index, $0.value) }
        case .firstSettled:
            return Typed(list.firstSettled(line: UInt(id))) { .settled($0.index, ModelOutcome($0.result)) }
        case .results: return Typed(list.results(line: UInt(id))) { .outcomes($0.map(ModelOutcome.init)) }
        case .values, .gather: return Typed(list.values(line: UInt(id))) { .values($0) }
        }
    }

    func cancelList(_ inputs: [Handle]) { DeferredList(inputs.map(\.plain)).cancel() }

    func cancel(_ handle: Handle) { handle.cancel() }
    func pause(_ handle: Handle) { handle.pause() }
    func unpause(_ handle: Handle, at site: Int) { handle.unpause(UInt(site)) }
    func look(_ handle: Handle) -> ModelOutcome? { handle.look() }
    func wait(_ handle: Handle) -> Waited { handle.wait() }
    func runWork() -> Bool { dispatcher.runNext() }
    func dropWork() -> Bool { dispatcher.dropNext() }
    func dropDispatcher() { _ = takeDispatcher() }

    /// Not inlined: the optimiser would release the dispatcher before the property is empty.
    @inline(never)
    private func takeDispatcher() -> QueueingDispatcher? { releasedDispatcher.take() }

    /// Whether a time limit is still set.
    var hasTimers: Bool { !clock.scheduled.isEmpty }

    func task(
        _ handle: Handle, _ resumed: @escaping (ModelOutcome) -> Void
    ) -> (await: () -> Void, cancel: () -> Void) {
        #if INTERLEAVING
        let probe = AwaitProbe()
        let deferred = handle.plain
        return (
            {
                probe.start(deferred) {
                    resumed($0 ? ModelOutcome(probe.outcome(as: Datum.self)) : .failure(.cancelled))
                }
            },
            { probe.cancel() }
        )
        #else
        preconditionFailure("only programs of threads have Tasks")
        #endif
    }

    /// The captures of a closure that is passed to the engine: counted until they are released.
    final class Held<Body>: @unchecked Sendable {
        let body: Body
        private let machine: EngineMachine
        private let atEnd: (() -> Void)?

        init(_ machine: EngineMachine, _ body: Body, atEnd: (() -> Void)? = nil) {
            self.body = body
            self.machine = machine
            self.atEnd = atEnd
            machine.liveClosures += 1
        }

        deinit {
            machine.liveClosures -= 1
            atEnd?()
        }
    }
}

// MARK: Handles

/// A `Deferred` of any type.
protocol Position {
    /// Whether it is of a `Datum`, and then itself.
    var isPlain: Bool { get }
    var plain: Deferred<Datum> { get }
    func attach(_ form: CallbackForm, isNested: Bool, _ attaching: Attaching) -> Deferred<Datum>
    func shielded(_ line: UInt) -> any Position
    func finally(_ body: @escaping @Sendable (ModelOutcome) -> Void)
    func cancel()
    func pause()
    func unpause(_ line: UInt)
    func look() -> ModelOutcome?
    func wait() -> Waited
}

/// The arguments of `attach` apart from the form.
struct Attaching: Sendable {
    let id: UInt
    let dispatcher: (any Dispatcher)?
    let held: EngineMachine.Held<EngineMachine.CallbackBody>

    /// The closures for a value and for a Deferred: they do not retain the dispatcher.
    var plain: @Sendable (ModelOutcome) throws -> Datum {
        { [held] outcome in
            guard case .outcome(let outcome) = held.body(outcome) else {
                preconditionFailure("only a nested callback returns a handle")
            }
            return try outcome.result.get()
        }
    }

    var nested: @Sendable (ModelOutcome) throws -> Deferred<Datum> {
        { [held, id] outcome in
            switch held.body(outcome) {
            case .unchanged: preconditionFailure("a callback that runs has a result")
            case .handle(let position): return position.plain
            case .outcome(.value(let value)): return .resolved(value, line: id)
            case .outcome(.failure(let fault)): throw fault.error
            }
        }
    }
}

/// A `Deferred`, and what its value is to the program.
private struct Typed<Value: Sendable>: Position {
    let deferred: Deferred<Value>
    let datum: @Sendable (Value) -> Datum

    init(_ deferred: Deferred<Value>, _ datum: @escaping @Sendable (Value) -> Datum) {
        self.deferred = deferred
        self.datum = datum
    }

    var plain: Deferred<Datum> {
        guard let plain = deferred as? Deferred<Datum> else { preconditionFailure("not one of a Datum") }
        return plain
    }

    var isPlain: Bool { Value.self == Datum.self }

    func attach(_ form: CallbackForm, isNested: Bool, _ it: Attaching) -> Deferred<Datum> {
        // The closures do not capture `self`, which retains the Deferred.
        let (simple, nested, datum, on) = (it.plain, it.nested, datum, it.dispatcher)
        switch (form, isNested) {
        case (.then, false): return deferred.map(on: on, { try simple(.value(datum($0))) }, line: it.id)
        case (.then, true): return deferred.then(on: on, { try nested(.value(datum($0))) }, line: it.id)
        case (.both, false):
            return deferred.mapResult(on: on, { try simple(ModelOutcome($0, datum)) }, line: it.id)
        case (.both, true):
            return deferred.thenResult(on: on, { try nested(ModelOutcome($0, datum)) }, line: it.id)
        case (.pair, false):
            return deferred.map(
                on: on, { try simple(.value(datum($0))) }, recover: { try simple(.failure(Fault($0))) },
                line: it.id)
        case (.pair, true):
            return deferred.then(
                on: on, { try nested(.value(datum($0))) }, orElse: { try nested(.failure(Fault($0))) },
                line: it.id)
        case (.fail, false): return plain.recover(on: on, { try simple(.failure(Fault($0))) }, line: it.id)
        case (.fail, true): return plain.orElse(on: on, { try nested(.failure(Fault($0))) }, line: it.id)
        case (.trap, false):
            return plain.recover(TestError.self, on: on, { try simple(.failure(Fault($0))) }, line: it.id)
        case (.trap, true):
            return plain.orElse(TestError.self, on: on, { try nested(.failure(Fault($0))) }, line: it.id)
        }
    }

    func shielded(_ line: UInt) -> any Position { Typed(deferred.shielded(line: line), datum) }
    func finally(_ body: @escaping @Sendable (ModelOutcome) -> Void) {
        deferred.finally { [datum] in body(ModelOutcome($0, datum)) }
    }
    func cancel() { deferred.cancel() }
    func pause() { deferred.pause() }
    func unpause(_ line: UInt) { deferred.unpause(line: line) }
    func look() -> ModelOutcome? { deferred.currentResult.map { ModelOutcome($0, datum) } }
    func wait() -> Waited {
        Waited { ModelOutcome.value(datum(try deferred.wait(timeout: .nanoseconds(1)))) }
    }
}

private func position(_ deferred: Deferred<Datum>) -> any Position { Typed(deferred) { $0 } }

extension Waited {
    fileprivate init(_ body: () throws -> ModelOutcome) {
        do {
            self = .outcome(try body())
        } catch DeferredError.timedOut {
            self = .timedOut
        } catch DeferredError.wouldDeadlock {
            self = .wouldDeadlock
        } catch {
            self = .outcome(.failure(Fault(error)))
        }
    }
}

// MARK: Errors, outcomes, reports

extension Fault {
    init(_ error: any Error) {
        switch error {
        case let error as TestError: self = .test(error.number)
        case is CancellationError: self = .cancelled
        case DeferredError.abandoned: self = .abandoned
        case DeferredError.cycle: self = .cycle
        case DeferredError.empty: self = .empty
        default: self = .other
        }
    }

    var error: any Error {
        switch self {
        case .test(let number): TestError(number: number)
        case .cancelled: CancellationError()
        case .abandoned: DeferredError.abandoned
        case .cycle: DeferredError.cycle
        case .empty: DeferredError.empty
        case .other: DeferredError.timedOut
        }
    }
}

extension ModelOutcome {
    init<Value>(_ result: Result<Value, any Error>, _ datum: (Value) -> Datum) {
        switch result {
        case .success(let value): self = .value(datum(value))
        case .failure(let error): self = .failure(Fault(error))
        }
    }

    @Sendable init(_ result: Result<Datum, any Error>) { self.init(result) { $0 } }

    var result: Result<Datum, any Error> {
        switch self {
        case .value(let value): .success(value)
        case .failure(let fault): .failure(fault.error)
        }
    }
}

extension ModelReport {
    init(_ diagnostic: DeferredDiagnostic) {
        switch diagnostic {
        case .unhandledFailure(let error, let made):
            self = .unhandled(Fault(error), made: made.line)
        case .alreadySettled(let made, let first, let again):
            self = .alreadySettled(made: made.line, first: first?.line, again: again.line)
        case .notCompletable(let made, let at): self = .notCompletable(made: made.line, at: at.line)
        case .unbalancedUnpause(let made, let at): self = .unbalanced(made: made.line, at: at.line)
        }
    }
}
