import Deferred
import Multicast
import TestSupport

/// A protocol as users write them: bound to classes, not Sendable.
protocol HearingDelegate: AnyObject {
    func hear(_ text: String)
}

/// Logs its calls, with its name.
final class LoggingDelegate: HearingDelegate, Sendable {
    let name: String
    let log: SharedLog<String>

    init(_ name: String, _ log: SharedLog<String>) {
        self.name = name
        self.log = log
    }

    func hear(_ text: String) {
        log.add("\(name) \(text)")
    }
}

/// Calls a closure when it is called, and another when it is deallocated.
final class ReactingDelegate: HearingDelegate, Sendable {
    let reaction: @Sendable (ReactingDelegate, String) -> Void
    let atEnd: @Sendable (ReactingDelegate) -> Void

    init(
        _ reaction: @escaping @Sendable (ReactingDelegate, String) -> Void,
        atEnd: @escaping @Sendable (ReactingDelegate) -> Void = { _ in }
    ) {
        self.reaction = reaction
        self.atEnd = atEnd
    }

    deinit { atEnd(self) }

    func hear(_ text: String) {
        reaction(self, text)
    }
}

/// Logs when it is released, with the closure that captures it.
final class ReleaseProbe: Sendable {
    let log: SharedLog<String>

    init(_ log: SharedLog<String>) {
        self.log = log
    }

    deinit {
        log.add("released")
    }
}

/// A reference that several closures share, and that one of them sets to nil.
final class SharedReference: @unchecked Sendable {
    // Soundness of @unchecked Sendable: each test uses one from one thread at a time.
    var held: AnyObject?
}

/// An object that listeners belong to.
final class Owner: Sendable {}

/// A protocol whose methods answer.
protocol AnsweringDelegate: AnyObject, Sendable {
    func answer(_ question: String) throws -> Int
}

final class LoggingAnswerer: AnsweringDelegate, Sendable {
    let log: SharedLog<String>
    let body: @Sendable (String) throws -> Int

    init(_ log: SharedLog<String>, _ body: @escaping @Sendable (String) throws -> Int) {
        self.log = log
        self.body = body
    }

    convenience init(_ log: SharedLog<String>, _ number: Int) {
        self.init(log) { _ in number }
    }

    func answer(_ question: String) throws -> Int {
        let answer = try body(question)
        log.add("\(question) \(answer)")
        return answer
    }
}

struct Refusal: Error, Equatable {
    var number = 0
}

/// Delegates that answer, and a log of what they answered. It retains them, since references to delegates are weak.
final class Panel: Sendable {
    let delegates = MulticastDelegate<any AnsweringDelegate>()
    let log = SharedLog<String>()
    private let retained = SharedLog<LoggingAnswerer>()

    /// Adds a delegate for each answer, all on `place`.
    @discardableResult
    func add(_ answers: [Int], on place: (any Dispatcher)? = nil) -> [LoggingAnswerer] {
        add(answers, each: answers.map { _ in place })
    }

    /// Adds a delegate for each answer, each on a dispatcher of its own.
    ///
    /// In an array with `nil` beside it, name the type `[(any Dispatcher)?]`: of an array of `ManualDispatcher?` the
    /// Swift 6.3 compiler, optimising, puts the elements on the stack though they outlive it.
    @discardableResult
    func add(_ answers: [Int], each places: [(any Dispatcher)?]) -> [LoggingAnswerer] {
        let answerers = answers.map { LoggingAnswerer(log, $0) }
        for (answerer, place) in zip(answerers, places) {
            retained.add(answerer)
            delegates.add(answerer, on: place)
        }
        return answerers
    }
}

/// Delegates that log what they hear. It retains them, since references to delegates are weak.
final class Audience: Sendable {
    let delegates = MulticastDelegate<any HearingDelegate>()
    let log = SharedLog<String>()
    private let retained = SharedLog<any HearingDelegate & Sendable>()

    /// Adds a delegate for each name.
    @discardableResult
    func add(_ names: String..., on place: (any Dispatcher)? = nil) -> [LoggingDelegate] {
        names.map { add(LoggingDelegate($0, log), on: place) }
    }

    /// Adds a delegate.
    @discardableResult
    func add<Delegate: HearingDelegate & Sendable>(
        _ delegate: Delegate, on place: (any Dispatcher)? = nil
    ) -> Delegate {
        retained.add(delegate)
        delegates.add(delegate, on: place)
        return delegate
    }

    func notify(_ text: String) { delegates.notify { $0.hear(text) } }
}
