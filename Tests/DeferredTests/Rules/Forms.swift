import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    /// A public function that attaches a closure: which outcomes its closure sees, and what it takes from the closure.
    struct Form: Sendable, CustomTestStringConvertible {
        enum Sees { case values, errors, booms, uncancelled, either }
        enum Takes { case value, deferred, nothing, input }

        /// What a closure does with the outcome that it sees, as a closure of each type.
        struct Body: Sendable {
            let run: @Sendable (Result<Int, any Error>) throws -> Deferred<Int>

            func later(_ input: Result<Int, any Error>) throws -> Deferred<Int> { try run(input) }
            func later(_ value: Int) throws -> Deferred<Int> { try run(.success(value)) }
            func later(_ error: any Error) throws -> Deferred<Int> { try run(.failure(error)) }
            func now(_ input: Result<Int, any Error>) throws -> Int { try later(input).currentResult!.get() }
            func now(_ value: Int) throws -> Int { try now(.success(value)) }
            func now(_ error: any Error) throws -> Int { try now(.failure(error)) }
            func none(_ input: Result<Int, any Error>) throws { _ = try now(input) }
            func none(_ value: Int) throws { _ = try now(value) }
            func none(_ error: any Error) throws { _ = try now(error) }
            func awaited(_ value: Int) async throws -> Int { try await later(value).value }
            func awaited(_ error: any Error) async throws -> Int { try await later(error).value }
        }

        let testDescription: String
        let sees: Sees
        let takes: Takes
        let attach: @Sendable (_ source: Deferred<Int>, _ body: Body) -> Deferred<String>

        private init<Value>(
            _ name: String, _ sees: Sees, _ takes: Takes,
            _ attach: @escaping @Sendable (Deferred<Int>, Body) -> Deferred<Value>
        ) {
            (testDescription, self.sees, self.takes) = (name, sees, takes)
            self.attach = { attach($0, $1).map { "\($0)" } }
        }

        static func on(_ queue: (any Dispatcher)?) -> [Form] {
            [
                Form("map", .values, .value) { $0.map(on: queue, $1.now) },
                Form("then", .values, .deferred) { $0.then(on: queue, $1.later) },
                Form("done", .values, .nothing) { $0.done(on: queue, $1.none) },
                Form("recover", .errors, .value) { $0.recover(on: queue, $1.now) },
                Form("orElse", .errors, .deferred) { $0.orElse(on: queue, $1.later) },
                Form("fail", .errors, .nothing) { $0.fail(on: queue, $1.none) },
                Form("recover, typed", .booms, .value) { $0.recover(Boom.self, on: queue, $1.now) },
                Form("orElse, typed", .booms, .deferred) { $0.orElse(Boom.self, on: queue, $1.later) },
                Form("fail, typed", .booms, .nothing) { $0.fail(Boom.self, on: queue, $1.none) },
                Form("fail, no cancellation", .uncancelled, .nothing) {
                    $0.fail(.exceptCancellation, on: queue, $1.none)
                },
                Form("mapResult", .either, .value) { $0.mapResult(on: queue, $1.now) },
                Form("thenResult", .either, .deferred) { $0.thenResult(on: queue, $1.later) },
                Form("both", .either, .nothing) { $0.both(on: queue, $1.none) },
                Form("always", .either, .input) { $0.always(on: queue, $1.none) },
                Form("map, recover", .either, .value) { $0.map(on: queue, $1.now, recover: $1.now) },
                Form("then, orElse", .either, .deferred) { $0.then(on: queue, $1.later, orElse: $1.later) },
                Form("done, fail", .either, .nothing) { $0.done(on: queue, $1.none, fail: $1.none) },
            ]
        }

        static let onMainActor: [Form] = [
            Form("map", .values, .value) { $0.map(on: MainActor.self, $1.now) },
            Form("then", .values, .deferred) { $0.then(on: MainActor.self, $1.later) },
            Form("done", .values, .nothing) { $0.done(on: MainActor.self, $1.none) },
            Form("recover", .errors, .value) { $0.recover(on: MainActor.self, $1.now) },
            Form("orElse", .errors, .deferred) { $0.orElse(on: MainActor.self, $1.later) },
            Form("fail", .errors, .nothing) { $0.fail(on: MainActor.self, $1.none) },
            Form("recover, typed", .booms, .value) { $0.recover(Boom.self, on: MainActor.self, $1.now) },
            Form("orElse, typed", .booms, .deferred) { $0.orElse(Boom.self, on: MainActor.self, $1.later) },
            Form("fail, typed", .booms, .nothing) { $0.fail(Boom.self, on: MainActor.self, $1.none) },
            Form("fail, no cancellation", .uncancelled, .nothing) {
                $0.fail(.exceptCancellation, on: MainActor.self, $1.none)
            },
            Form("mapResult", .either, .value) { $0.mapResult(on: MainActor.self, $1.now) },
            Form("thenResult", .either, .deferred) { $0.thenResult(on: MainActor.self, $1.later) },
            Form("both", .either, .nothing) { $0.both(on: MainActor.self, $1.none) },
            Form("always", .either, .input) { $0.always(on: MainActor.self, $1.none) },
            Form("map, recover", .either, .value) { $0.map(on: MainActor.self, $1.now, recover: $1.now) },
            Form("then, orElse", .either, .deferred) {
                $0.then(on: MainActor.self, $1.later, orElse: $1.later)
            },
            Form("done, fail", .either, .nothing) { $0.done(on: MainActor.self, $1.none, fail: $1.none) },
        ]

        static let asynchronous: [Form] = [
            Form("asyncMap", .values, .deferred) { $0.asyncMap($1.awaited) },
            Form("asyncDone", .values, .nothing) { source, body in
                source.asyncDone { _ = try await body.awaited($0) }
            },
            Form("asyncRecover", .errors, .deferred) { $0.asyncRecover($1.awaited) },
        ]

        static let all = on(nil) + on(InlineDispatcher()) + onMainActor + asynchronous

        /// Whether the closure sees `input`, which otherwise bypasses it (L1).
        func sees(_ input: Result<Int, any Error>) -> Bool {
            switch (sees, input) {
            case (.either, _), (.values, .success), (.errors, .failure): true
            case (.booms, .failure(let error)): error is Boom
            case (.uncancelled, .failure(let error)): !(error is CancellationError)
            case (.values, .failure), (.errors, .success), (.booms, .success), (.uncancelled, .success): false
            }
        }

        /// What comes of `input` by L1 to L4 if the closure ends with `end`.
        func outcome(of input: Result<Int, any Error>, endingWith end: Result<Int, any Error>) -> String {
            switch (takes, sees(input) ? end : input) {
            case (.nothing, .success): "()"
            case (.input, .success): Rules.outcome(input)
            case (_, let result): Rules.outcome(result)
            }
        }
    }

    @Suite("Rules L1 to L4: every form", .silentDiagnostics) struct Forms {
        /// Checks a form with each outcome of its source, attached before the completion and after it.
        private func check(_ form: Form, nests: Bool) async {
            let inputs: [Result<Int, any Error>] = [
                .success(1), .failure(Boom(1)), .failure(Crash()), .failure(CancellationError()),
            ]
            let ends: [Result<Int, any Error>] = [.success(5), .failure(Boom(2))]
            for (input, end) in inputs.flatMap({ input in ends.map { (input, $0) } }) {
                for isAttachedFirst in [true, false] {
                    let (calls, source, inner) = (Log(), Deferred<Int>(), Deferred<Int>())
                    if !isAttachedFirst { source.complete(with: input) }
                    let body = Form.Body { seen in
                        calls(Rules.outcome(seen))
                        return nests ? inner : .resolved(try end.get())
                    }
                    let link = form.attach(source, body)
                    if isAttachedFirst { source.complete(with: input) }
                    if nests && form.sees(input) {
                        #expect(!link.isSettled)
                        inner.complete(with: end)
                    }
                    #expect(Rules.outcome(await link.result) == form.outcome(of: input, endingWith: end))
                    #expect(calls.all == (form.sees(input) ? [Rules.outcome(input)] : []))
                }
            }
        }

        @Test(
            "L1, L2, L3: the closure that sees the outcome runs, and decides; another outcome is passed on",
            arguments: Form.all)
        func outcomes(form: Form) async { await check(form, nests: false) }

        @Test(
            "L4: every form that may nest waits for the Deferred returned, and takes its outcome",
            arguments: Form.all.filter { $0.takes == .deferred })
        func nested(form: Form) async { await check(form, nests: true) }

        @Test("L4: the nested handle keeps its value for other consumers, notified in the order attached")
        func innerKeepsItsValue() {
            let log = Log()
            let inner = Deferred<Int>()
            inner.done { log("before \($0)") }
            let outer = Deferred.resolved(0).then { _ in inner }
            outer.done { log("outer \($0)") }
            inner.done { log("after \($0)") }
            inner.resolve(1)
            #expect(log.all == ["before 1", "after 1", "outer 1"])
            #expect(outcome(inner) == "1")
            inner.done { log("late \($0)") }
            #expect(log.all.last == "late 1")
        }
    }
}
