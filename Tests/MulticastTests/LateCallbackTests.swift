import Deferred
import DeferredTesting
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

    @Test(
        "M1: a callback attached after the last answer runs on that delegate's dispatcher",
        arguments: Question.allCases)
    func late(question: Question) throws {
        let (result, answerer) = settled(question)
        result.both { [log] in log.add("first") }
        result.both { [log] in log.add("second") }
        #expect(!log.all.contains("first"))
        #expect(dispatcher.count == 1)
        dispatcher.run()
        #expect(log.all.suffix(2) == ["first", "second"])
        #expect(dispatcher.count == 0)
        withExtendedLifetime(answerer) {}
    }

    @Test(
        "M1: where the dispatcher releases the work, the callback runs all the same, and a cancel ends its wait"
    )
    func dropped() throws {
        let (result, answerer) = settled(.collect)
        result.both { [log] in log.add("late") }
        dispatcher.dropAll()
        #expect(log.all.last == "late")
        let cancelled = result.both {}
        cancelled.cancel()
        dispatcher.run()
        #expect(cancelled.hasFired)
        withExtendedLifetime(answerer) {}
    }

    @Test("M1: without a dispatcher, or where that was released, a late callback runs at once")
    func atOnce() {
        let answerer = LoggingAnswerer(log, 1)
        delegates.add(answerer, on: nil)
        delegates.collect { try $0.answer("q") }.done { [log] _ in log.add("at once") }
        #expect(log.all.last == "at once")
        delegates.removeAll()
        var released: ManualDispatcher? = ManualDispatcher()
        delegates.add(answerer, on: released)
        let result = delegates.collect { try $0.answer("q") }
        released?.run()
        delegates.removeAll()
        released = nil
        result.done { [log] _ in log.add("its dispatcher is gone") }
        #expect(log.all.last == "its dispatcher is gone")
    }

    @Test("F5: late callbacks attached from a late callback run after it, there too")
    func fromInside() {
        let (result, answerer) = settled(.collect)
        result.both { [log] in
            _ = result.both { log.add("inner") }
            log.add("outer")
        }
        dispatcher.run()
        #expect(log.all.suffix(2) == ["outer", "inner"])
        withExtendedLifetime(answerer) {}
    }
}
