/// A program that exercises the contract: steps performed in order, on handles identified by number, and after them those
/// of its threads. The actions of a callback are part of the program that attached it.
struct ModelProgram: Sendable {
    var steps: [ModelAction] = []
    var threads: [[ModelAction]] = []
}

/// One action. `id` is the number of the handle that it creates, and the line in diagnostics.
indirect enum ModelAction: Sendable {
    case source(id: Int, SourceKind, Canceller?)
    case settled(id: Int, ModelOutcome)
    case complete(id: Int, Int, through: Completer, ModelOutcome)
    case attach(id: Int, to: Int, Callback, keep: Bool)
    case shielded(id: Int, Int)
    case timeout(id: Int, Int)
    case finally(id: Int, Int, [ModelAction])
    case follow(id: Int, Int, through: Completer, Int)
    case list(id: Int, [Int], ListRule, ListOptions, keep: Bool)
    case cancelList([Int])
    /// A list whose body returns these handles, with so many in progress at once; a number may be the list's own.
    case limitedList(id: Int, [Int], limit: Int, ListRule)
    case cancel(Int)
    case pause(Int)
    case unpause(id: Int, Int)
    case look(Int)
    case wait(id: Int, Int)
    case copy(id: Int, Int)
    case drop(Int)
    case copyResolver(id: Int, Int)
    case dropResolver(Int)
    case runWork
    case dropWork
    /// Releases the last reference to a dispatcher, but those of links that have submitted nothing to it yet.
    case dropDispatcher
    /// The time of all time limits is up.
    case expire
    /// A Task that is to await a Deferred, and its start and cancel.
    case task(id: Int, Int)
    case await(Int)
    case cancelTask(Int)
}

enum SourceKind { case plain, withResolver }
/// Whether a source is completed through its handle or its resolver.
enum Completer { case handle, resolver }
enum ListRule: CaseIterable { case results, values, first, firstSettled, gather }

struct ListOptions {
    var consumesErrors = false
    var cancelsRemaining = false
}

/// The actions of a canceller, and the outcome with which it completes its Resolver.
struct Canceller {
    var actions: [ModelAction] = []
    var completes: ModelOutcome?
    /// The number under which it keeps that Resolver; nil if it does not.
    var keeps: Int?
}

enum CallbackForm: CaseIterable { case then, fail, both, pair, trap }
/// Where a callback runs: on a dispatcher that stores it, runs it at once, releases it, or may itself be released.
enum DispatcherKind { case manual, inline, dropping, released }

struct Callback {
    var form: CallbackForm
    var dispatcher: DispatcherKind?
    /// Whether the overload whose callback returns a Deferred is used.
    var isNested = false
    /// What it does with a value, and with an error.
    var onValue = ScriptedBody()
    var onFailure = ScriptedBody()
    /// The actions in the `deinit` of an object that the closure captures.
    var atEnd: [ModelAction] = []
}

struct ScriptedBody {
    var actions: [ModelAction] = []
    var answer = BodyResult.echo
}

enum BodyResult {
    /// The input: the value is returned, the error thrown.
    case echo
    case value(Int)
    case error(Int)
    /// The Deferred of this number; `echo` if there is none, or the callback is not nested.
    case handle(Int)
}

// MARK: What programs work on

/// The value of every Deferred in a program.
indirect enum Datum: Hashable, Sendable {
    case number(Int)
    case outcomes([ModelOutcome])
    case values([Datum])
    case place(Int, Datum)
    case settled(Int, ModelOutcome)
}

enum ModelOutcome: Hashable, Sendable {
    case value(Datum)
    case failure(Fault)

    var isCancelled: Bool { self == .failure(.cancelled) }
}

/// The errors in programs.
enum Fault: Hashable, Sendable {
    case test(Int)
    case cancelled, abandoned, cycle, empty
    case other
}

// MARK: What is seen of a run

enum ModelEvent: Hashable {
    /// A callback ran with this input.
    case ran(Int, ModelOutcome)
    case finalizer(Int, ModelOutcome)
    case canceller(Int)
    case completed(Int, Bool)
    case isCancelled(Int, Bool)
    case looked(Int, ModelOutcome?)
    case awaited(Int, ModelOutcome)
    case waited(Int, Waited)
    /// A closure was released.
    case released(Int)
}

/// The result of a wait with the shortest time limit.
enum Waited: Hashable {
    case outcome(ModelOutcome)
    case timedOut
    case wouldDeadlock
}

enum ModelReport: Hashable {
    case unhandled(Fault, made: Int)
    case alreadySettled(made: Int, first: Int?, again: Int)
    case notCompletable(made: Int, at: Int)
    case unbalanced(made: Int, at: Int)
}
