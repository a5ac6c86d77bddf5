/// A program of the library's users: steps on numbered positions, and then those of two threads that take turns.
///
/// Each number names one thing for the whole program: what a step makes, and the line that reports name. A step on
/// something that is missing does nothing, so that any part of a program can be left out.
struct UserProgram: Sendable {
    var steps: [Step] = []
    var threads: [[Step]] = []
}

/// What a user writes in one line.
indirect enum Step: Sendable {
    /// A source; its canceller completes it as its script answers, or not, if that is `echo`.
    case source(Int, Completion, canceller: Script?)
    case settled(Int, fails: Bool)
    case link(Int, to: Int, Form, on: Place, Script)
    case shielded(Int, of: Int)
    case timeout(Int, of: Int)
    case list(Int, [Int], Rule, consumesErrors: Bool = false, cancelsRemaining: Bool = false)
    /// A list whose elements are begun by scripts, at most `limit` at once.
    case limited(Int, [Script], limit: Int, Rule)
    /// As many attempts as scripts.
    case retry(Int, [Script], delayed: Bool)
    case locked(Int, by: Int, Script)
    case latest(Int, of: Int, Script)
    case cached(Int, in: Int, key: Int, Script)
    case get(Int, from: Int)
    case worker(Int, of: Int, Script)
    case put(Int, into: Int)
    case finish(queue: Int)
    case finally(Int, of: Int, [Step])
    case follow(Int, other: Int)
    case complete(Int, target: Int, fails: Bool)
    /// Resolves a source through the resolver that its canceller has kept.
    case completeKept(Int)
    case cancel(Int)
    /// Cancels several as one, by a list or by a bag.
    case cancelAll([Int], byBag: Bool)
    case pause(Int)
    case unpause(Int)
    case drop(Int)
    case dropResolver(Int)
    /// Releases the last reference to a dispatcher, but those of links that have submitted nothing to it yet.
    case dropDispatcher
    case look(Int)
    /// Waits for the shortest time that there is.
    case wait(Int)
    case awaiting(Int, Int)
    case cancelTask(Int)
    case runJobs
    case runWork
    case dropWork
    /// All time limits and delays are over.
    case advance
}

/// How a source is completed: by its handles, or by a resolver that is apart from it.
enum Completion: Sendable, Hashable { case handle, resolver }

/// Which outcomes a closure takes: those that its name says, or either by one or by two closures.
enum Form: CaseIterable, Sendable { case value, error, either, pair }

/// Where a closure runs: on a dispatcher that runs it at once, stores it, releases it, or may itself be released.
enum Place: Sendable { case here, inline, stored, dropping, released }

enum Rule: CaseIterable, Sendable { case results, values, first, firstSettled }

/// What a closure does: steps, and then its answer.
struct Script: Sendable {
    var steps: [Step] = []
    var answer = Answer.echo
}

enum Answer: Sendable, Equatable {
    /// Its input: the value is returned, the error thrown.
    case echo
    case value
    case error
    /// A canceller's: it keeps its resolver.
    case keep
    /// The Deferred of that number; as `echo`, if there is none.
    case deferred(Int)
}

extension Step {
    /// The number of what it makes; nil if it makes nothing.
    var id: Int? {
        switch self {
        case .source(let id, _, _), .settled(let id, _), .link(let id, _, _, _, _), .shielded(let id, _),
            .timeout(let id, _), .list(let id, _, _, _, _), .limited(let id, _, _, _), .retry(let id, _, _),
            .locked(let id, _, _), .latest(let id, _, _), .cached(let id, _, _, _), .get(let id, _),
            .worker(let id, _, _), .finally(let id, _, _), .awaiting(let id, _):
            id
        default: nil
        }
    }

    /// The scripts and lists of steps in this step.
    var inner: [Script] {
        switch self {
        case .source(_, _, let canceller): canceller.map { [$0] } ?? []
        case .link(_, _, _, _, let script), .locked(_, _, let script), .latest(_, _, let script),
            .cached(_, _, _, let script), .worker(_, _, let script):
            [script]
        case .limited(_, let scripts, _, _), .retry(_, let scripts, _): scripts
        case .finally(_, _, let steps): [Script(steps: steps)]
        default: []
        }
    }

    /// This step with other scripts.
    func with(_ scripts: [Script]) -> Step {
        switch self {
        case .source(let id, let completion, _): .source(id, completion, canceller: scripts.first)
        case .link(let id, let target, let form, let place, _):
            .link(id, to: target, form, on: place, scripts[0])
        case .locked(let id, let lock, _): .locked(id, by: lock, scripts[0])
        case .latest(let id, let latest, _): .latest(id, of: latest, scripts[0])
        case .cached(let id, let cache, let key, _): .cached(id, in: cache, key: key, scripts[0])
        case .worker(let id, let queue, _): .worker(id, of: queue, scripts[0])
        case .limited(let id, _, let limit, let rule): .limited(id, scripts, limit: limit, rule)
        case .retry(let id, _, let delayed): .retry(id, scripts, delayed: delayed)
        case .finally(let id, let target, _): .finally(id, of: target, scripts[0].steps)
        default: self
        }
    }
}

extension UserProgram {
    /// Whether it uses semaphores, queues, caches or latest calls.
    var hasObjects: Bool { (steps + threads.joined()).contains(where: \.hasObjects) }
}

extension Step {
    fileprivate var hasObjects: Bool {
        switch self {
        case .locked, .latest, .cached, .get, .worker, .put, .finish: true
        default: inner.contains { $0.steps.contains(where: \.hasObjects) }
        }
    }
}
