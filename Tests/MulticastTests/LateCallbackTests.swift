import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

/// Callbacks attached to an answer after the last delegate has answered.
@Suite("M1: late callbacks")
struct LateCallbackTests {
    private let delegates = MulticastDelegate<any AnsweringDelegate>()
    private let log = SharedLog<String>()
    private let dispatcher = ManualDispatcher()

    enum Question: CaseIterable {
        case all, any, allConcurrently, reduceOver, reduceInto, collect, failing

        fileprivate func ask(_ delegates: MulticastDelegate<any AnsweringDelegate>) -> Asked {
            struct Refused: Error {}
            return switch self {
            case .all: Asked(delegates.all { try $0.answer("q") >= 0 })
            case .any: Asked(delegates.any { try $0.answer("q") < 0 })
            case .allConcurrently: Asked(delegates.all(asking: .concurrently) { try $0.answer("q") >= 0 })
            case .reduceOver:
                Asked(delegates.reduce(over: 0) { sum, delegate in .next(sum + (try delegate.answer("q"))) })
            case .reduceInto: Asked(delegates.reduce(into: 0) { $0 += try $1.answer("q") })
            case .collect: Asked(delegates.collect { try $0.answer("q") })
            case .failing: Asked(delegates.collect { _ -> Int in throw Refused() })
            }
        }
    }

    /// A question's result of any type.
    struct Asked: Sendable {
        let hasFired: @Sendable () -> Bool
        let attach: @Sendable (@escaping @Sendable () -> Void) -> Deferred<Void>

        init<Value>(_ result: Deferred<Value>) {
            hasFired = { result.hasFired }
            attach = { callback in result.map({ _ in callback() }, recover: { _ in callback() }) }
        }

        @discardableResult
        func both(_ callback: @escaping @Sendable () -> Void) -> Deferred<Void> { attach(callback) }
    }

    private func settled(_ question: Question) -> (result: Asked, answerer: LoggingAnswerer) {
        let answerer = LoggingAnswerer(log, 1)
        delegates.add(answerer, on: dispatcher)
        let result = question.ask(delegates)
        dispatcher.run()
        #expect(result.hasFired())
        return (result, answerer)
    }

    @Test("F3: a callback attached after the last answer runs at once", arguments: Question.allCases)
    func late(question: Question) {
        let (result, answerer) = settled(question)
        result.both { [log] in
            _ = result.both { log.add("inner") }
            log.add("outer")
        }
        #expect(log.all.suffix(2) == ["outer", "inner"])
        #expect(dispatcher.count == 0)
        withExtendedLifetime(answerer) {}
    }

    @Test("F3: a settled answer can be waited for on the last delegate's own queue", .ownThreads)
    func onTheQueue() throws {
        let queue = DispatchQueue(label: "answers")
        let answerer = LoggingAnswerer(log, 1)
        delegates.add(answerer, on: queue)
        let result = delegates.collect { try $0.answer("q") }
        #expect(try result.wait() == [1])
        let sum = try queue.sync { try result.map { $0.reduce(0, +) }.wait() }
        #expect(sum == 1)
    }
}
