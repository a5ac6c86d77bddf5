import Deferred
import DeferredTesting
import Testing

/// How a Replayer creates the Deferreds that a scenario completes explicitly.
enum Making: CaseIterable, Sendable {
    case initializer
    case resolver
}

/// Runs a scenario on Deferred and writes down what it did, as twisted_runner.py does with Twisted.
///
/// A name of a scenario stands for the newest handle of its chain.
// Sound although unchecked: a replayer lives within one call of `replay`. It names no dispatcher, so every
// callback runs on the thread that replays, within that call; the clock runs what falls due on the thread
// that advances it.
final class Replayer: @unchecked Sendable {
    let making: Making
    let clock = ManualClock()
    var trace: [String] = []
    /// Whether the trace is complete. Callbacks that run later have no names to look up.
    private(set) var isOver = false
    private var handles: [String: ScenarioHandle] = [:]
    var producers: [String: ScenarioSource] = [:]
    /// The handles that a name referred to when it was paused: an unpause applies to the latest of them.
    var paused: [String: [ScenarioHandle]] = [:]
    var locks: [String: Lock] = [:]
    var queues: [String: DeferredQueue<Token>] = [:]
    /// The acquired permits of a lock or semaphore, oldest first.
    var permits: [String: [DeferredSemaphore.Permit]] = [:]
    var reports: [DeferredDiagnostic] = []

    private init(making: Making) {
        self.making = making
    }

    /// The trace of a program.
    static func replay(_ program: [String], making: Making) throws -> [String] {
        let steps = try program.map(ScenarioStep.init(line:))
        let replayer = Replayer(making: making)
        return try DeferredDiagnostics.withHandler({ replayer.reports.append($0) }) {
            for step in steps {
                try replayer.run(step)
            }
            let trace = replayer.trace
            replayer.letGo()
            return trace
        }
    }

    /// Releases everything: pending Deferreds are abandoned, and the cycle through the callbacks is broken.
    private func letGo() {
        isOver = true
        let everything = (handles, producers, paused, permits, locks, queues)
        (handles, producers, paused, permits, locks, queues) = ([:], [:], [:], [:], [:], [:])
        withExtendedLifetime(everything) {}
    }

    func newest(_ name: String) throws -> ScenarioHandle {
        try #require(handles[name], "no Deferred of this name: \(name)")
    }

    /// Assigns a new handle to a name. The old one is released after that, since its release may run callbacks.
    func setNewest(_ name: String, _ handle: ScenarioHandle) {
        let old = handles.updateValue(handle, forKey: name)
        withExtendedLifetime(old) {}
    }

    func run(_ step: ScenarioStep) throws {
        let words = step.words
        func word(_ index: Int) throws -> String {
            try #require(index < words.count, "a word is missing: \(step)")
            return words[index]
        }
        switch step.verb {
        case "mark": try trace.append(word(0))
        case "look": try look(word(0))
        case "new": try make(word(0), canceller: words.count > 1 ? step.block : nil)
        case "succeed": try setNewest(word(0), ScenarioHandle(.resolved(.word(word(1)))))
        case "failed": try setNewest(word(0), ScenarioHandle(.rejected(ScenarioError(name: word(1)))))
        case "keep": try keep(word(0), word(1))
        case "drop": try drop(word(0))
        case "then", "fail", "both", "pair": try attach(step.verb, to: word(0), Array(step.links.dropFirst()))
        case "maybe": try maybe(word(0), step.block)
        case "chain": try chain(word(0), to: word(1))
        case "fire": try fire(word(0), word(1))
        case "cancel": try newest(word(0)).cancel()
        case "pause": try pause(word(0))
        case "unpause": try unpause(word(0))
        case "list", "gather", "first", "race":
            try makeList(step.verb, word(0), Array(words.dropFirst()))
        case "timeout": try timeout(word(0), word(1), step.items.count > 2 ? step.block : nil)
        case "later": try later(word(0), word(1), word(2))
        case "advance": try clock.advance(by: seconds(word(0)))
        case "lock": try locks[word(0)] = Lock(DeferredLock())
        case "semaphore": try locks[word(0)] = Lock(DeferredSemaphore(#require(Int(word(1)))))
        case "acquire": try acquire(word(0), word(1))
        case "release": try release(word(0))
        case "run": try runHolding(word(0), word(1), step.links[2])
        case "queue": try queues[word(0)] = DeferredQueue()
        case "put": try queue(word(0)).put(.word(word(1)))
        case "get": try setNewest(word(0), ScenarioHandle(queue(word(1)).get()))
        default: Issue.record("no such step: \(step.verb)")
        }
    }

    private func look(_ name: String) throws {
        trace.append("\(name) = \(try newest(name).outcome()?.traced ?? "pending")")
    }

    private func keep(_ name: String, _ other: String) throws {
        setNewest(name, try newest(other))
        producers[name] = producers[other]
    }

    /// Releases all handles of a name, and records the failures reported as unhandled.
    private func drop(_ name: String) {
        letGo(of: name)
        trace += reports.compactMap { report in
            guard case .unhandledFailure(let error, _) = report else { return nil }
            return "unhandled " + Result<Token, any Error>.failure(error).traced
        }.sorted()
        reports = []
    }

    private func letGo(of name: String) {
        let everything = (
            handles.removeValue(forKey: name), producers.removeValue(forKey: name),
            paused.removeValue(forKey: name)
        )
        withExtendedLifetime(everything) {}
    }

    private func pause(_ name: String) throws {
        let handle = try newest(name)
        paused[name, default: []].append(handle)
        handle.pause()
    }

    private func unpause(_ name: String) throws {
        let handle = try newest(name)
        (paused[name]?.popLast() ?? handle).unpause()
    }
}
