/// A program for the contract: steps taken one after another, on handles that are known by number. What a
/// callback does is part of the program that attached it.
struct Program {
    var steps: [Action] = []
}

/// One thing to do. `id` numbers the handle that it makes; it stands as the line in diagnostics too.
indirect enum Action {
    case source(id: Int, SourceKind, Canceller?)
    case settled(id: Int, Outcome)
    case fire(id: Int, Int, through: Firer, Outcome)
    case attach(id: Int, to: Int, Callback, keep: Bool)
    case shielded(id: Int, Int)
    case finally(id: Int, Int)
    case follow(id: Int, Int, through: Firer, Int)
    case list(id: Int, [Int], ListRule, ListOptions, keep: Bool)
    case cancelList([Int])
    case cancel(Int)
    case pause(Int)
    case unpause(id: Int, Int)
    case look(Int)
    case copy(id: Int, Int)
    case drop(Int)
    case dropResolver(Int)
    case runWork
    case dropWork
}

enum SourceKind { case plain, withResolver }
/// Whether a source is fired through its handle or its resolver.
enum Firer { case handle, resolver }
enum ListRule: CaseIterable { case results, values, first, gather }

struct ListOptions {
    var consumeErrors = false
    var cancelsRemaining = false
}

/// What a canceller does, and what it fires the resolver with that it is given.
struct Canceller {
    var actions: [Action] = []
    var fires: Outcome?
}

enum Form: CaseIterable { case then, fail, both, pair, trap }
/// Where a callback runs: on a dispatcher that waits to be told, that runs it at once, or that lets go of it.
enum DispatcherKind { case manual, inline, dropping }

struct Callback {
    var form: Form
    var dispatcher: DispatcherKind?
    /// By the overload that may give another Deferred.
    var isNested = false
    /// What is done with a value, and with an error.
    var onValue = Body()
    var onFailure = Body()
}

struct Body {
    var actions: [Action] = []
    var answer = Answer.echo
}

enum Answer {
    /// What was given: the value is returned, the error thrown.
    case echo
    case value(Int)
    case error(Int)
    /// The Deferred of this number; `echo` where there is none, or the callback is not nested.
    case handle(Int)
}

// MARK: What programs work on

/// The value of every Deferred in a program.
indirect enum Datum: Hashable, Sendable {
    case number(Int)
    case outcomes([Outcome])
    case values([Datum])
    case place(Int, Datum)
}

enum Outcome: Hashable, Sendable {
    case value(Datum)
    case failure(Fault)
}

/// Every error that can come up.
enum Fault: Hashable, Sendable {
    case test(Int)
    case cancelled, abandoned, cycle, empty
    case other
}

// MARK: What is seen of a run

enum Event: Hashable {
    /// A callback ran, and what it saw.
    case ran(Int, Outcome)
    case finalizer(Int, Outcome)
    case canceller(Int)
    case fired(Int, Bool)
    case isCancelled(Int, Bool)
    case looked(Int, Outcome?)
}

enum Report: Hashable {
    case unhandled(Fault, made: Int)
    case alreadyFired(made: Int, first: Int?, again: Int)
    case notFireable(made: Int, at: Int)
    case unbalanced(made: Int, at: Int)
}

/// What came of one step of a program.
struct StepTrace {
    var events: [Event] = []
    var reports: [Report] = []
}
