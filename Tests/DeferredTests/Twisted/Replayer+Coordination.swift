import Deferred

/// A lock, semaphore or queue of a scenario.
enum Primitive: Sendable {
    case lock(DeferredLock)
    case semaphore(DeferredSemaphore)
    case queue(DeferredQueue<Token>)
}

extension Replayer {
    func acquire(_ name: String, _ lockName: String) throws {
        let permit =
            switch primitives[lockName] {
            case .lock(let lock): lock.acquire()
            case .semaphore(let semaphore): semaphore.acquire()
            default: throw UnreadableStep(line: lockName, reason: "neither a lock nor a semaphore")
            }
        // A scenario releases by the lock's name: the permits are kept by name, in the order of arrival.
        let acquired = permit.map { permit in
            self.permits[lockName, default: []].append(permit)
            return Token.word("acquired")
        }
        setNewest(name, ScenarioHandle(acquired))
    }

    func release(_ lockName: String) throws {
        guard permits[lockName]?.isEmpty == false, let permit = permits[lockName]?.removeFirst() else {
            throw UnreadableStep(line: lockName, reason: "it was not acquired")
        }
        permit.release()
    }

    func runHolding(_ name: String, _ lockName: String, _ work: ScenarioLink) throws {
        let nothing = Result<Token, any Error>.success(.word("none"))
        let body = { @Sendable () throws -> Deferred<Token> in
            self.trace.append(work.label)
            return switch try self.perform(work.steps, nothing) {
            case .outcome(let outcome): .resolved(try outcome.get())
            case .deferred(let deferred): deferred
            }
        }
        let result: Deferred<Token> =
            switch primitives[lockName] {
            case .lock(let lock): lock.run(body)
            case .semaphore(let semaphore): semaphore.run(body)
            default: throw UnreadableStep(line: lockName, reason: "neither a lock nor a semaphore")
            }
        setNewest(name, ScenarioHandle(result))
    }

    func makeSemaphore(_ name: String, _ limit: String) throws {
        guard let limit = Int(limit) else {
            throw UnreadableStep(line: limit, reason: "not a number of permits")
        }
        primitives[name] = .semaphore(DeferredSemaphore(limit))
    }

    func queue(_ name: String) throws -> DeferredQueue<Token> {
        guard case .queue(let queue)? = primitives[name] else {
            throw UnreadableStep(line: name, reason: "not a queue")
        }
        return queue
    }
}
