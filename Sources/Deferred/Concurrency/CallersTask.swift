internal import Synchronization

/// Runs asynchronous closures that may have to wait, in one Task, which has the task-local values and the priority of
/// the call that created this object (X1).
///
/// Only a Task has all task-local values of the place where it is created. So that call creates it: with the first
/// closure, if that is to run within the call; otherwise at the end of the call (``endCall()``), and the Task waits,
/// suspended, until a closure is there. Several closures run one after another: the attempts of a retry, the jobs of a
/// worker. What is cancelled cancels the Task; no further closure is run after that.
///
/// The closures that begin the work retain this object, and the Task does not. It ends when they are released.
final class CallersTask: Sendable {
    private typealias Operation = @Sendable () async -> Void

    private struct State {
        /// The thread of the call that created this, until the call has ended.
        var callingThread: UInt?
        var task: Task<Void, Never>?
        /// The operations that the Task has yet to run.
        var operations: [Operation] = []
        /// The Task, while it is suspended.
        var suspended: UnsafeContinuation<Void, Never>?
        /// Whether no further operation will come.
        var isClosed = false
        var isCancelled = false
    }

    /// Apart from this object, which the Task does not retain.
    private final class Storage: Sendable {
        let state = SpinLocked(State(callingThread: Platform.currentThread))

        /// Runs `first`, and then what is added, until this is closed.
        func run(_ first: Operation?) async {
            await first?()
            while true {
                let (next, isOver) = state.withLock { state -> (Operation?, Bool) in
                    if state.operations.isEmpty { return (nil, state.isClosed) }
                    return (state.operations.removeFirst(), false)
                }
                if let next { await next() } else if isOver { return } else { await suspend() }
            }
        }

        private func suspend() async {
            await withUnsafeContinuation { continuation in
                let isSuspended = state.withLock { state in
                    guard state.operations.isEmpty, !state.isClosed else { return false }
                    state.suspended = continuation
                    return true
                }
                if !isSuspended { continuation.resume() }
            }
        }

        /// Creates the Task.
        func start(_ priority: TaskPriority?, _ first: Operation?) {
            let task = Task(priority: priority) { [self] in await run(first) }
            let isCancelled = state.withLock { state in
                state.task = task
                return state.isCancelled
            }
            if isCancelled { task.cancel() }
        }

        func cancel() {
            let task = state.withLock { state in
                state.isCancelled = true
                return state.task
            }
            task?.cancel()
        }
    }

    private let storage = Storage()
    private let priority: TaskPriority?

    /// - Parameter priority: The priority of the Task; nil for that of the call.
    init(priority: TaskPriority? = nil) { self.priority = priority }

    deinit {
        let suspended = storage.state.withLock { state in
            state.isClosed = true
            return state.suspended.take()
        }
        suspended?.resume()
    }

    /// Calls `attach` with a new object, and ends the call.
    static func calling<R>(priority: TaskPriority? = nil, _ attach: (CallersTask) -> R) -> R {
        let task = CallersTask(priority: priority)
        let result = attach(task)
        task.endCall()
        return result
    }

    /// Ends the call: creates the Task, unless it is there.
    private func endCall() {
        let mustStart = storage.state.withLock { state in
            state.callingThread = nil
            return state.task == nil
        }
        // It takes what is there itself.
        if mustStart { storage.start(priority, nil) }
    }

    /// Runs `operation` in the Task, and returns a Deferred with its outcome, whose cancel cancels the Task.
    func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<Value> {
        let (deferred, resolver) = Deferred<Value>.withResolver(
            DeferredDiagnostic.Location(.task, fileID, line)
        ) { [storage] _ in storage.cancel() }
        let operation: Operation = { await resolver.complete(operation, onUndelivered: nil, fileID, line) }
        let (isInCall, suspended) = storage.state.withLock { state in
            let isInCall = state.task == nil && state.callingThread == Platform.currentThread
            if !isInCall { state.operations.append(operation) }
            return (isInCall, state.suspended.take())
        }
        if isInCall { storage.start(priority, operation) }
        suspended?.resume()
        return deferred
    }
}
