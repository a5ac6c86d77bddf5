import Foundation
public import Testing

/// Ends tests that hang, and only these, however busy the machine is.
///
/// Tests hang if they have begun, and none of the process has ended for five minutes that the process was *granted*:
/// time that it waited for a processor does not count (`GrantedTime`). A limit for each test would count the time that it
/// waits for all the others.
///
/// Each test that has begun and not ended fails then, and its Task is cancelled. Those that have not ended a minute
/// later block a thread: the process is ended, with their names.
///
/// Tests that start programs or servers, or that measure, run few at once: `atOnce`.
public struct Watchdog: SuiteTrait, TestTrait, TestScoping {
    /// How many tests of a kind run at once.
    public enum Width: Sendable {
        /// As many as Swift Testing starts.
        case any
        /// As many as there are processors: tests that start programs or have connections, which keep one another
        /// waiting.
        case few
    }

    /// On a suite it applies to each of the suite's tests.
    public let isRecursive = true
    private let width: Width

    /// Creates a trait for tests of which so many run at once.
    public init(atOnce width: Width = .any) { self.width = width }

    /// Blocks the thread until `semaphore` is signalled. Returns false if the tests are called off meanwhile.
    public static func waits(for semaphore: DispatchSemaphore) -> Bool {
        let count = Watch.shared.callOffCount
        while semaphore.wait(timeout: .now() + 1) == .timedOut {
            if Watch.shared.callOffCount > count { return false }
        }
        return true
    }

    /// Whether an enclosing suite's trait watches the test already.
    @TaskLocal private static var isWatching = false

    /// Runs a test case when it is its turn, and watches it.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard let testCase, !Self.isWatching else { return try await function() }
        if width == .few { await Turns.few.take() }
        defer { if width == .few { Turns.few.pass() } }
        let arguments = testCase.isParameterized ? " \(testCase)" : ""
        let location = test.sourceLocation
        let name = "\(test.displayName ?? test.name)\(arguments) (\(location.fileName):\(location.line))"
        let entry = withUnsafeCurrentTask { Watch.shared.begin(name, $0) }
        let result: Result<Void, any Error>
        do {
            try await Self.$isWatching.withValue(true) { try await function() }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        if Watch.shared.end(entry) {
            Issue.record("hangs: no test has ended for \(Int(Watch.limit)) s", sourceLocation: location)
        }
        try result.get()
    }
}

extension Trait where Self == Watchdog {
    /// Ends a test that hangs.
    public static var watchdog: Watchdog { Watchdog() }

    /// Ends a test that hangs, and runs few of these tests at once.
    public static func watchdog(atOnce width: Watchdog.Width) -> Watchdog { Watchdog(atOnce: width) }
}

/// The tests that run, and a thread that looks whether they end.
///
/// Sound as `@unchecked Sendable`: `state` is accessed only under `lock`. It is no `Mutex`: see `OwnThreads`.
private final class Watch: @unchecked Sendable {
    static let shared = Watch()

    /// In seconds. A search that is longer than usual is one test, and a sanitizer makes it ten times as long.
    static let limit: Double = {
        let names = ["DEFERRED_DEPTH", "DEFERRED_PROGRAMS", "DEFERRED_ROUNDS"]
        let environment = ProcessInfo.processInfo.environment
        return Extent.isSanitized || names.contains { environment[$0] != nil } ? 1200 : 300
    }()

    /// A test that runs.
    ///
    /// Sound as `@unchecked Sendable`: `task` and `isCalledOff` are accessed only under `lock`.
    final class Entry: @unchecked Sendable {
        fileprivate let name: String
        private let lock = NSLock()
        private var task: UnsafeCurrentTask?
        private var isCalledOff = false

        fileprivate init(_ name: String, _ task: UnsafeCurrentTask?) { (self.name, self.task) = (name, task) }

        /// Cancels the test's Task. That Task is there, since it calls `end` before its end, and waits for the lock there.
        fileprivate func callOff() {
            lock.withLock {
                isCalledOff = task != nil
                task?.cancel()
            }
        }

        /// Returns whether the test was called off, since it had hung.
        fileprivate func end() -> Bool {
            lock.withLock {
                task = nil
                return isCalledOff
            }
        }
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var secondsSinceEnd = 0.0
        var hasThread = false
        var isCalledOff = false
        var callOffCount = 0
    }

    private let lock = NSLock()
    private var state = State()

    /// How often tests were called off.
    var callOffCount: Int { lock.withLock { state.callOffCount } }

    func begin(_ name: String, _ task: UnsafeCurrentTask?) -> Entry {
        let entry = Entry(name, task)
        let isFirst = lock.withLock {
            defer { state.hasThread = true }
            if state.entries.isEmpty { state.secondsSinceEnd = 0 }
            state.entries[ObjectIdentifier(entry)] = entry
            return !state.hasThread
        }
        if isFirst { Thread.detachNewThread { self.watch() } }
        return entry
    }

    /// Returns whether the test was called off, since it had hung.
    func end(_ entry: Entry) -> Bool {
        lock.withLock {
            (state.secondsSinceEnd, state.isCalledOff) = (0, false)
            state.entries[ObjectIdentifier(entry)] = nil
        }
        return entry.end()
    }

    private func watch() {
        var time = GrantedTime()
        while true {
            Thread.sleep(forTimeInterval: 1)
            let seconds = time.advance()
            let hanging = lock.withLock { check(seconds) }
            // On a thread of its own, since it calls whatever the tests do when they are cancelled.
            if !hanging.isEmpty { Thread.detachNewThread { for entry in hanging { entry.callOff() } } }
        }
    }

    /// Returns the tests that are to be called off.
    private func check(_ seconds: Double) -> [Entry] {
        guard !state.entries.isEmpty else { return [] }
        state.secondsSinceEnd += seconds
        if state.secondsSinceEnd > Self.limit + 60 {
            let names = state.entries.values.map { "  \($0.name)\n" }.sorted().joined()
            fatalError("Tests hang, and do not end when they are cancelled:\n\(names)")
        }
        guard state.secondsSinceEnd > Self.limit, !state.isCalledOff else { return [] }
        state.isCalledOff = true
        state.callOffCount += 1
        return Array(state.entries.values)
    }
}

/// Permits for tests, in the order in which they ask.
///
/// Sound as `@unchecked Sendable`: `free` and `waiting` are accessed only under `lock`.
private final class Turns: @unchecked Sendable {
    static let few = Turns(max(2, ProcessInfo.processInfo.activeProcessorCount))

    private let lock = NSLock()
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = lock.withLock {
                guard free == 0 else {
                    free -= 1
                    return true
                }
                waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func pass() {
        let next = lock.withLock {
            if waiting.isEmpty { free += 1 }
            return waiting.isEmpty ? nil : waiting.removeFirst()
        }
        next?.resume()
    }
}
