internal import Deferred

/// What a delegate replies: its answer, or a promise of it.
enum Reply<Answer: Sendable>: Sendable {
    case now(Answer)
    case later(Deferred<Answer>)

    func map<U: Sendable>(
        at site: CallSite, _ transform: @escaping @Sendable (Answer) throws -> U
    ) throws -> Reply<U> {
        switch self {
        case .now(let answer): .now(try transform(answer))
        case .later(let promise): .later(promise.map(transform, fileID: site.fileID, line: site.line))
        }
    }
}

extension Deferred {
    /// Returns the result of a question, with this outcome of its last step: an abandonment is reported only if something
    /// is attached to what this returns (U1). A value is not received (V1).
    func answer(at site: CallSite) -> Deferred {
        let (answer, resolver) = Deferred.withResolver(fileID: site.fileID, line: site.line)
        let last = notingAbandonment(
            { resolver.disownFailure() }, fileID: site.fileID, line: site.line)
        resolver.follow(orCancel: last)
        return answer
    }
}
