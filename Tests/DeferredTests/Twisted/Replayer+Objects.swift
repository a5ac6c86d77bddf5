import Deferred
import DeferredTesting
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

    /// `words`: the names of the inputs, and `+consume`.
    func makeList(_ verb: String, _ name: String, _ words: [String]) throws {
        let inputs = try words.filter { !$0.hasPrefix("+") }.map { try newest($0).chain() }
        // Twisted's race owns its inputs: it consumes their errors, and cancels the losers.
        let isRace = verb == "race"
        let list = DeferredList(
            inputs, consumesErrors: isRace || words.contains("+consume"), cancelsRemaining: isRace)
        switch verb {
        case "list": setNewest(name, ScenarioHandle(list.results(), Token.list))
        case "gather": setNewest(name, ScenarioHandle(list.values()) { .list($0.map(Result.success)) })
        default: setNewest(name, ScenarioHandle(list.first()) { .first(index: $0.index, value: $0.value) })
        }
    }

    func seconds(_ written: String) throws -> Duration {
        .seconds(try #require(Int(written), "not a number of seconds: \(written)"))
    }

    func timeout(_ name: String, _ after: String, _ steps: [ScenarioStep]?) throws {
        let handle = try newest(name).chain()
        guard let steps else {
            return setNewest(name, ScenarioHandle(handle.timeout(try seconds(after), timer: clock)))
        }
        let limited = handle.timeout(try seconds(after), timer: clock) {
            self.trace.append("timed-out \(name)")
            let end = try self.perform(steps, .success(.word("none")))
            return try #require(end.outcome, "a Deferred where a value was called for: \(name)").get()
        }
        setNewest(name, ScenarioHandle(limited))
    }

    func later(_ name: String, _ delay: String, _ value: String) throws {
        setNewest(name, ScenarioHandle(.after(try seconds(delay), timer: clock, value: .word(value))))
    }
}
