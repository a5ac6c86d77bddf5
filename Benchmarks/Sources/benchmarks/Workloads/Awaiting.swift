import Deferred

/// A1: awaits the `value` of a settled Deferred, compared with a continuation that is resumed at once and the
/// `value` of a finished task.
enum AwaitSettled<Value: BenchmarkValue> {
    static func workload() -> Workload {
        Workload(
            "A1", "await value, already settled", per: "await", payload: Value.title,
            target: Target(limit: 1.1, peer: .continuation)
        ) {
            Contender.concurrent(.deferred) { executor, iterations, stopwatch in
                let settled = Deferred.resolved(opaque(Value.make(7)))
                try awaits(executor, iterations, stopwatch) { try await settled.value }
            }
            Contender.concurrent(.continuation) { executor, iterations, stopwatch in
                let value = opaque(Value.make(7))
                try awaits(executor, iterations, stopwatch) {
                    try await withUnsafeThrowingContinuation { $0.resume(returning: value) }
                }
            }
            Contender.concurrent(.task) { executor, iterations, stopwatch in
                let value = opaque(Value.make(7))
                let ended = Task<Value, any Error>(executorPreference: executor) { value }
                executor.drain()
                try awaits(executor, iterations, stopwatch) { try await ended.value }
            }
        }
    }

    private static func awaits(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch,
        _ value: @escaping @Sendable () async throws -> Value
    ) throws {
        let sink = ValueSink()
        try executor.run {
            stopwatch.start()
            for _ in 0..<iterations { sink.add(try await value().number) }
            stopwatch.stop()
        }
        try check(sink.total, is: 7 * iterations)
    }
}

/// A2: awaits the `value` of a pending Deferred, which is then resolved, compared with a bare throwing
/// continuation. A2c: compared with a continuation inside a cancellation handler, the minimum for an await
/// that can be cancelled.
///
/// The Deferreds are created before the clock starts; the driver resolves the one that the task awaits.
enum AwaitPending<Value: BenchmarkValue> {
    /// The number of Deferreds created in advance.
    static var batch: Int { 1_000 }

    static func workload() -> Workload {
        Workload(
            "A2", "await value, pending, then settled", per: "await", payload: Value.title,
            target: Target(limit: nil, peer: .continuation)
        ) {
            Contender.concurrent(.deferred, items: batch, sized: deferred)
            Contender.concurrent(.continuation, items: batch) { executor, iterations, stopwatch in
                try continuations(executor, iterations, stopwatch) { waiting in
                    try await withUnsafeThrowingContinuation { waiting.leave($0) }
                }
            }
        }
    }

    static func cancellableWorkload() -> Workload {
        Workload(
            "A2c", "await value, pending, then settled; peer can be cancelled too", per: "await",
            payload: Value.title, target: Target(limit: 1.25, peer: .continuation)
        ) {
            Contender.concurrent(.deferred, items: batch, sized: deferred)
            Contender.concurrent(.continuation, items: batch) { executor, iterations, stopwatch in
                try continuations(executor, iterations, stopwatch) { waiting in
                    try await withTaskCancellationHandler {
                        try await withUnsafeThrowingContinuation { waiting.leave($0) }
                    } onCancel: {
                        waiting.next()?.resume(throwing: CancellationError())
                    }
                }
            }
        }
    }

    private static func deferred(
        _ executor: ManualExecutor, _ batch: Int, _ iterations: Int, _ stopwatch: Stopwatch
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let sources = (0..<(batch * iterations)).map { _ in Deferred<Value>() }
        let waiting = Waiting<Deferred<Value>>()
        try executor.run {
            stopwatch.start()
            for source in sources {
                waiting.leave(source)
                sink.add(try await source.value.number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resolve(value)
        }
        try check(sink.total, is: 7 * batch * iterations)
    }

    private static func continuations(
        _ executor: ManualExecutor, _ iterations: Int, _ stopwatch: Stopwatch,
        _ suspend: @escaping @Sendable (Waiting<UnsafeContinuation<Value, any Error>>) async throws -> Value
    ) throws {
        let sink = ValueSink()
        let value = opaque(Value.make(7))
        let waiting = Waiting<UnsafeContinuation<Value, any Error>>()
        try executor.run {
            stopwatch.start()
            for _ in 0..<(batch * iterations) {
                sink.add(try await suspend(waiting).number)
            }
            stopwatch.stop()
        } whenIdle: {
            waiting.next()?.resume(returning: value)
        }
        try check(sink.total, is: 7 * batch * iterations)
    }
}
