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

/// Calls a closure when it is called.
final class ReactingDelegate: HearingDelegate, Sendable {
    let reaction: @Sendable (ReactingDelegate, String) -> Void

    init(_ reaction: @escaping @Sendable (ReactingDelegate, String) -> Void) {
        self.reaction = reaction
    }

    func hear(_ text: String) {
        reaction(self, text)
    }
}

/// Removes itself in its `deinit`, as GCDMulticastDelegate's users do.
final class SelfRemovingDelegate: HearingDelegate, Sendable {
    let delegates: MulticastDelegate<any HearingDelegate>
    let log: SharedLog<String>

    init(_ delegates: MulticastDelegate<any HearingDelegate>, _ log: SharedLog<String>) {
        self.delegates = delegates
        self.log = log
    }

    func hear(_ text: String) {
        log.add("leaving \(text)")
    }

    deinit {
        delegates.remove(self)
        log.add("gone")
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
