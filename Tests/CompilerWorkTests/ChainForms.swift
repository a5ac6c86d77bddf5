import TestSupport

/// The chains whose cost for the compiler is counted: one for each public function that takes a closure.
struct ChainForm: Sendable, CustomStringConvertible {
    /// The name in the table of results.
    let name: String
    /// A declaration with a chain of `count` steps, on one line.
    let declaration: @Sendable (_ count: Int, _ index: Int) -> String

    var description: String { name }

    /// A chain on a `Deferred<Int>` that repeats `step`.
    static func step(_ name: String, _ step: String) -> ChainForm {
        ChainForm(name: name) { count, index in
            declare(index, "d" + String(repeating: step, count: count))
        }
    }

    /// A function that takes a closure, with a chain of `map`s both inside it and behind it.
    static func head(_ name: String, _ head: @escaping @Sendable (_ chain: String) -> String) -> ChainForm {
        ChainForm(name: name) { count, index in
            declare(index, head("d" + maps(count / 2)) + maps(count - count / 2))
        }
    }

    /// A function whose closure returns a value rather than a Deferred.
    static func valueHead(_ name: String, _ head: @escaping @Sendable (_ value: String) -> String)
        -> ChainForm
    {
        ChainForm(name: name) { count, index in declare(index, head("1 * 2 + 1") + maps(count)) }
    }

    static func maps(_ count: Int) -> String { String(repeating: ".map { $0 * 2 + 1 }", count: count) }

    private static func declare(_ index: Int, _ chain: String) -> String {
        "func chain\(index)(_ d: Deferred<Int>, _ tools: Tools) { _ = \(chain) }"
    }

    /// Declarations that the chains use.
    static let tools = """
        struct Tools { let lock: DeferredLock, semaphore: DeferredSemaphore, file: DeferredFilesystemLock, \
        jobs: DeferredQueue<Int>, cache: DeferredCache<Int, Int>, operations: OperationQueue, \
        queue: DispatchQueue, latest: DeferredLatest, delegates: MulticastDelegate<any Asked> }; \
        protocol Asked: AnyObject { func number() -> Int; func later() -> Deferred<Int>; \
        func agrees() -> Bool; func agreesLater() -> Deferred<Bool> }; func use(_ number: Int) {}
        """

    static let modules = ["Deferred", "DeferredOperations", "Multicast", "Dispatch", "Foundation"]

    static let callbacks = operators + others

    private static let operators =
        (OperatorForm.on(nil) + OperatorForm.onMainActor + OperatorForm.asynchronous).map {
            step($0.title, $0.call)
        }

    private static let others: [ChainForm] = [
        .step("map(on:)", ".map(on: .main) { $0 * 2 + 1 }"),
        .step("finally", ".finally { print($0) }"),
        .step("finally(on: MainActor.self)", ".finally(on: MainActor.self) { print($0) }"),
        .step("timeout", ".timeout(.seconds(1)) { 1 * 2 + 1 }"),
        .step("timeout(on: MainActor.self)", ".timeout(.seconds(1), on: MainActor.self) { 1 * 2 + 1 }"),
        .step("thenReturn", ".thenReturn(1 * 2 + 1)"),
        .step(
            "everyday: then, map, recover, always",
            ".then { Deferred.resolved($0 * 2) }.map { $0 * 2 + 1 }.recover { _ in 0 }.always { print($0) }"),
        .step(
            "everyday: map, done, fail, map",
            ".map { \"\\($0 * 2 + 1)\" }.done { print($0) }.fail { print($0) }.map { 1 + 2 }"),
    ]

    static let heads: [ChainForm] = [
        .valueHead("Deferred { resolver in }") { "Deferred<Int> { $0.resolve(\($0)) }" },
        .valueHead("Deferred(on: MainActor.self) { resolver in }") {
            "Deferred<Int>(on: MainActor.self) { $0.resolve(\($0)) }"
        },
        .valueHead("Deferred(catching:)") { "Deferred(catching: { \($0) })" },
        .valueHead("Deferred { async }") { "Deferred { try await Task.sleep(for: .zero); return \($0) }" },
        .head("Deferred(following:)") { "Deferred(following: { \($0) })" },
        .head("retry") { chain in "Deferred.retry { \(chain) }" },
        .head("retry, numbered") { chain in "Deferred.retry { _ in \(chain) }" },
        .head("retry(on: MainActor.self)") { chain in "Deferred.retry(on: MainActor.self) { \(chain) }" },
        .head("retry(on: MainActor.self), numbered") { chain in
            "Deferred.retry(on: MainActor.self) { _ in \(chain) }"
        },
        .valueHead("asyncRetry") { "Deferred.asyncRetry { \($0) }" },
        .head("DeferredLock.run") { "tools.lock.run { \($0) }" },
        .valueHead("DeferredLock.syncRun") { "tools.lock.syncRun { \($0) }" },
        .head("DeferredLock.run(on: MainActor.self)") { "tools.lock.run(on: MainActor.self) { \($0) }" },
        .valueHead("DeferredLock.syncRun(on: MainActor.self)") {
            "tools.lock.syncRun(on: MainActor.self) { \($0) }"
        },
        .valueHead("DeferredLock.asyncRun") { "tools.lock.asyncRun { \($0) }" },
        .head("DeferredSemaphore.run") { "tools.semaphore.run { \($0) }" },
        .valueHead("DeferredSemaphore.syncRun") { "tools.semaphore.syncRun { \($0) }" },
        .head("DeferredSemaphore.run(on: MainActor.self)") {
            "tools.semaphore.run(on: MainActor.self) { \($0) }"
        },
        .valueHead("DeferredSemaphore.syncRun(on: MainActor.self)") {
            "tools.semaphore.syncRun(on: MainActor.self) { \($0) }"
        },
        .valueHead("DeferredSemaphore.asyncRun") { "tools.semaphore.asyncRun { \($0) }" },
        .head("DeferredFilesystemLock.run") { "tools.file.run { \($0) }" },
        .head("DeferredFilesystemLock.run(on: MainActor.self)") {
            "tools.file.run(on: MainActor.self) { \($0) }"
        },
        .valueHead("DeferredFilesystemLock.syncRun(on: MainActor.self)") {
            "tools.file.syncRun(on: MainActor.self) { \($0) }"
        },
        .valueHead("DeferredFilesystemLock.asyncRun") { "tools.file.asyncRun { \($0) }" },
        .head("DeferredQueue.run") { "tools.jobs.run { _ in \($0) }.map { 1 }" },
        .valueHead("DeferredQueue.run, a value") { "tools.jobs.run { _ in \($0) }.map { 1 }" },
        .valueHead("DeferredQueue.asyncRun") { "tools.jobs.asyncRun { _ in print(\($0)) }.map { 1 }" },
        .head("DeferredCache.value") { "tools.cache.value(for: 1) { \($0) }" },
        .valueHead("DeferredCache.asyncValue") { "tools.cache.asyncValue(for: 1) { \($0) }" },
        .head("repeating") { "Deferred.repeating(every: .seconds(1)) { \($0) }.map { 1 }" },
        .head("repeating(withCount:)") {
            "Deferred.repeating(every: .seconds(1), withCount: { _ in \($0) }).map { 1 }"
        },
        .head("RepeatingWork") { "RepeatingWork(every: .seconds(1)) { \($0) }.deferred.map { 1 }" },
        .head("DeferredLatest.run") { "tools.latest.run { \($0) }" },
        .valueHead("DeferredLatest.syncRun") { "tools.latest.syncRun { \($0) }" },
        .head("DeferredLatest.run(on: MainActor.self)") { "tools.latest.run(on: MainActor.self) { \($0) }" },
        .valueHead("DeferredLatest.syncRun(on: MainActor.self)") {
            "tools.latest.syncRun(on: MainActor.self) { \($0) }"
        },
        .head("DispatchQueue.deferredFollowing") { "tools.queue.deferredFollowing { \($0) }" },
        .valueHead("DispatchQueue.deferred") { "tools.queue.deferred { \($0) }" },
        .valueHead("repeating, a value") {
            "Deferred.repeating(every: .seconds(1)) { print(\($0)) }.map { 1 }"
        },
        .head("DeferredList(_:limit:)") {
            "DeferredList([1, 2], limit: 1) { _ in \($0) }.values().map { $0.count }"
        },
        .head("OperationQueue.deferredFollowing") { "tools.operations.deferredFollowing { \($0) }" },
        .valueHead("OperationQueue.deferred") { "tools.operations.deferred { \($0) }" },
        .head("MulticastDelegate.collectDeferred") { chain in
            "tools.delegates.collectDeferred { _ in \(chain) }.map { $0.count }"
        },
        .valueHead("MulticastDelegate.collect") { _ in
            "tools.delegates.collect { $0.number() * 2 + 1 }.map { $0.count }"
        },
        .head("MulticastDelegate.all") { chain in
            "tools.delegates.all { _ in \(chain).map { $0 > 1 } }.map { $0 ? 1 : 0 }"
        },
        .valueHead("MulticastDelegate.all, a value") { _ in
            "tools.delegates.all { $0.agrees() }.map { $0 ? 1 : 0 }"
        },
        .valueHead("MulticastDelegate.any, a value") { _ in
            "tools.delegates.any { $0.agrees() }.map { $0 ? 1 : 0 }"
        },
        .valueHead("gather") { _ in "gather(d, d).map { $0 + $1 }" },
    ]
}
