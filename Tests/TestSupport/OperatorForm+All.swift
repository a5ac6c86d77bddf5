public import Deferred
internal import DeferredTesting

extension OperatorForm {
    /// A function, in its forms: with a dispatcher, and on the main actor.
    struct Row: Sendable {
        typealias Attaching = @Sendable (Deferred<Int>, Body) -> any DeferredConvertible

        let function: String
        let variant: Variant
        let sees: Sees
        let takes: Takes
        let attach: @Sendable (Deferred<Int>, (any Dispatcher)?, Body) -> any DeferredConvertible
        let attachOnMainActor: Attaching

        init<Value>(
            _ function: String, variant: Variant = .only, _ sees: Sees, _ takes: Takes,
            _ attach: @escaping @Sendable (Deferred<Int>, (any Dispatcher)?, Body) -> Deferred<Value>,
            onMainActor: @escaping @Sendable (Deferred<Int>, Body) -> Deferred<Value>
        ) {
            (self.function, self.variant, self.sees, self.takes) = (function, variant, sees, takes)
            (self.attach, attachOnMainActor) = (attach, onMainActor)
        }
    }

    /// The functions that take a place: a new operator has a row here.
    private static let rows = [
        Row(
            "map", .values, .value, { $0.map(on: $1, $2.now) },
            onMainActor: { $0.map(on: MainActor.self, $1.now) }),
        Row(
            "then", .values, .deferred, { $0.then(on: $1, $2.later) },
            onMainActor: { $0.then(on: MainActor.self, $1.later) }),
        Row(
            "done", .values, .nothing, { $0.done(on: $1, $2.none) },
            onMainActor: { $0.done(on: MainActor.self, $1.none) }),
        Row(
            "recover", .errors, .value, { $0.recover(on: $1, $2.now) },
            onMainActor: { $0.recover(on: MainActor.self, $1.now) }),
        Row(
            "orElse", .errors, .deferred, { $0.orElse(on: $1, $2.later) },
            onMainActor: { $0.orElse(on: MainActor.self, $1.later) }),
        Row(
            "fail", .errors, .nothing, { $0.fail(on: $1, $2.none) },
            onMainActor: { $0.fail(on: MainActor.self, $1.none) }),
        Row(
            "recover", variant: .ofType, .booms, .value, { $0.recover(Boom.self, on: $1, $2.now) },
            onMainActor: { $0.recover(Boom.self, on: MainActor.self, $1.now) }),
        Row(
            "orElse", variant: .ofType, .booms, .deferred, { $0.orElse(Boom.self, on: $1, $2.later) },
            onMainActor: { $0.orElse(Boom.self, on: MainActor.self, $1.later) }),
        Row(
            "fail", variant: .ofType, .booms, .nothing, { $0.fail(Boom.self, on: $1, $2.none) },
            onMainActor: { $0.fail(Boom.self, on: MainActor.self, $1.none) }),
        Row(
            "fail", variant: .exceptCancellation, .uncancelled, .nothing,
            { $0.fail(.exceptCancellation, on: $1, $2.none) },
            onMainActor: { $0.fail(.exceptCancellation, on: MainActor.self, $1.none) }),
        Row(
            "mapError", .errors, .input, { $0.mapError(on: $1, $2.error) },
            onMainActor: { $0.mapError(on: MainActor.self, $1.error) }),
        Row(
            "mapResult", .either, .value, { $0.mapResult(on: $1, $2.now) },
            onMainActor: { $0.mapResult(on: MainActor.self, $1.now) }),
        Row(
            "thenResult", .either, .deferred, { $0.thenResult(on: $1, $2.later) },
            onMainActor: { $0.thenResult(on: MainActor.self, $1.later) }),
        Row(
            "both", .either, .nothing, { $0.both(on: $1, $2.none) },
            onMainActor: { $0.both(on: MainActor.self, $1.none) }),
        Row(
            "always", .either, .input, { $0.always(on: $1, $2.none) },
            onMainActor: { $0.always(on: MainActor.self, $1.none) }),
        Row(
            "map", variant: .pair("recover"), .either, .value, { $0.map(on: $1, $2.now, recover: $2.now) },
            onMainActor: { $0.map(on: MainActor.self, $1.now, recover: $1.now) }),
        Row(
            "then", variant: .pair("orElse"), .either, .deferred,
            { $0.then(on: $1, $2.later, orElse: $2.later) },
            onMainActor: { $0.then(on: MainActor.self, $1.later, orElse: $1.later) }),
        Row(
            "done", variant: .pair("fail"), .either, .nothing, { $0.done(on: $1, $2.none, fail: $2.none) },
            onMainActor: { $0.done(on: MainActor.self, $1.none, fail: $1.none) }),
    ]

    /// The functions that start a Task for their closure: a new operator of that kind has a row here.
    public static let asynchronous = [
        inTask("asyncMap", .values, .deferred) { $0.asyncMap($1.awaited) },
        inTask("asyncDone", .values, .nothing) { source, body in
            source.asyncDone { _ = try await body.awaited($0) }
        },
        inTask("asyncRecover", .errors, .deferred) { $0.asyncRecover($1.awaited) },
    ]

    /// The forms that name a dispatcher, with that one; nil for those that name none.
    public static func on(_ dispatcher: (any Dispatcher)?) -> [OperatorForm] {
        rows.map { row in OperatorForm(row, .dispatcher) { row.attach($0, dispatcher, $1) } }
    }

    /// The forms whose closures run on the main actor.
    public static let onMainActor = rows.map { OperatorForm($0, .mainActor, $0.attachOnMainActor) }

    /// All forms.
    public static let all = on(nil) + on(InlineDispatcher()) + onMainActor + asynchronous

    private static func inTask<Value>(
        _ function: String, _ sees: Sees, _ takes: Takes,
        _ attach: @escaping @Sendable (Deferred<Int>, Body) -> Deferred<Value>
    ) -> OperatorForm {
        OperatorForm(Row(function, sees, takes, { attach($0, $2) }, onMainActor: attach), .task, attach)
    }
}
