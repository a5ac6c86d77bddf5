import Deferred
import DeferredTesting
import Testing

extension Replayer {
    func seconds(_ written: String) throws -> Duration {
        .seconds(try #require(Int(written), "not a number of seconds: \(written)"))
    }

    func timeout(_ name: String, _ after: String, _ steps: [ScenarioStep]?) throws {
        let handle = try newest(name).chain()
        guard let steps else {
            return setNewest(name, ScenarioHandle(handle.timeout(try seconds(after), on: clock)))
        }
        let limited = handle.timeout(try seconds(after), on: clock) {
            self.trace.append("timed-out \(name)")
            let end = try self.perform(steps, .success(.word("none")))
            return try #require(end.outcome, "a Deferred where a value was called for: \(name)").get()
        }
        setNewest(name, ScenarioHandle(limited))
    }

    func later(_ name: String, _ delay: String, _ value: String) throws {
        setNewest(name, ScenarioHandle(.after(try seconds(delay), on: clock, value: .word(value))))
    }
}
