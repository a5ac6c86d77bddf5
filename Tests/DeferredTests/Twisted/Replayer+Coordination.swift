import Deferred
import Testing

/// A lock or a semaphore of a scenario.
struct Lock: Sendable {
    let acquire: @Sendable () -> Deferred<DeferredSemaphore.Permit>
    let run: @Sendable (_ body: @escaping @Sendable () throws -> Deferred<Token>) -> Deferred<Token>

    init(_ lock: DeferredLock) { (acquire, run) = ({ lock.acquire() }, { lock.run($0) }) }
    init(_ semaphore: DeferredSemaphore) { (acquire, run) = ({ semaphore.acquire() }, { semaphore.run($0) }) }
}

extension Replayer {
    func lock(_ name: String) throws -> Lock { try #require(locks[name], "no lock: \(name)") }

    func queue(_ name: String) throws -> DeferredQueue<Token> {
        try #require(queues[name], "no queue: \(name)")
    }

    func acquire(_ name: String, _ lockName: String) throws {
        // A scenario releases by the lock's name: the permits are kept by name, in the order of arrival.
        let acquired = try lock(lockName).acquire().map { permit in
            self.permits[lockName, default: []].append(permit)
            return Token.word("acquired")
        }
        setNewest(name, ScenarioHandle(acquired))
    }

    func release(_ lockName: String) throws {
        try #require(permits[lockName]?.isEmpty == false, "not acquired: \(lockName)")
        permits[lockName]?.removeFirst().release()
    }

    func runHolding(_ name: String, _ lockName: String, _ work: ScenarioLink) throws {
        let result = try lock(lockName).run {
            self.trace.append(work.label)
            return switch try self.perform(work.steps, .success(.word("none"))) {
            case .outcome(let outcome): .resolved(try outcome.get())
            case .deferred(let deferred): deferred
            }
        }
        setNewest(name, ScenarioHandle(result))
    }
}
