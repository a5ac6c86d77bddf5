import Deferred
import DeferredTesting

extension Replayer {
    func seconds(_ written: String) throws -> Duration {
        guard let seconds = Int(written) else {
            throw UnreadableStep(line: written, reason: "not a number of seconds")
        }
        return .seconds(seconds)
    }

    func timeout(_ name: String, _ after: String, _ steps: [ScenarioStep]?) throws {
        let handle = try newest(name).chain()
        guard let steps else {
            return setNewest(name, ScenarioHandle(handle.timeout(try seconds(after), on: clock)))
        }
        let limited = handle.timeout(try seconds(after), on: clock) {
            self.trace.append("timed-out \(name)")
            guard case .outcome(let outcome) = try self.perform(steps, .success(.word("none"))) else {
                throw UnreadableStep(line: name, reason: "a Deferred where a value was called for")
            }
            return try outcome.get()
        }
        setNewest(name, ScenarioHandle(limited))
    }

    func later(_ name: String, _ delay: String, _ value: String) throws {
        setNewest(name, ScenarioHandle(.after(try seconds(delay), on: clock, value: .word(value))))
    }
}
