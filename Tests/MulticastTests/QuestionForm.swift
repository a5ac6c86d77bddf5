import Deferred
import Multicast

/// The forms of a question: whether all delegates say yes.
enum QuestionForm: CaseIterable {
    case all, any, first, reduceOver, reduceInto
    case allPromised, anyPromised, firstPromised, reduceDeferred
    case allAtOnce, anyAtOnce, firstAtOnce, collect
    case allPromisedAtOnce, anyPromisedAtOnce, firstPromisedAtOnce, collectDeferred

    /// Those that ask one delegate after the other.
    static let sequential = allCases[..<9]
    /// Those whose delegates promise an answer.
    static let promised = allCases[5..<9] + allCases[13...]

    var asksAll: Bool { self == .collect || self == .collectDeferred }

    /// Asks the question.
    ///
    /// - Parameters:
    ///   - isYes: What a delegate says.
    ///   - promise: In the forms whose delegates promise an answer, what they promise.
    func ask(
        _ delegates: MulticastDelegate<any AnsweringDelegate>,
        _ isYes: @escaping @Sendable (any AnsweringDelegate) throws -> Bool = { try $0.answer("q") > 0 },
        promising promise: @escaping @Sendable (Bool) -> Deferred<Bool> = { .resolved($0) }
    ) -> Deferred<Bool> {
        typealias Promising = @Sendable (any AnsweringDelegate) throws -> Deferred<Bool>
        let isNo: @Sendable (any AnsweringDelegate) throws -> Bool = { !(try isYes($0)) }
        let yes: Promising = { promise(try isYes($0)) }
        let no: Promising = { try yes($0).map { !$0 } }
        return switch self {
        case .all: delegates.all(isYes)
        case .any: delegates.any(isNo).map { !$0 }
        case .first: delegates.first(where: isNo).map { $0 == nil }
        case .reduceOver:
            delegates.reduce(over: true) { _, delegate in try isYes(delegate) ? .next(true) : .stop(false) }
        case .reduceInto: delegates.reduce(into: true) { $0 = try isYes($1) && $0 }
        case .allPromised: delegates.all(yes)
        case .anyPromised: delegates.any(no).map { !$0 }
        case .firstPromised: delegates.first(where: no).map { $0 == nil }
        case .reduceDeferred:
            delegates.reduceDeferred(over: true) { _, delegate in
                try yes(delegate).map { $0 ? MulticastStep.next(true) : .stop(false) }
            }
        case .allAtOnce: delegates.all(asking: .concurrently, isYes)
        case .anyAtOnce: delegates.any(asking: .concurrently, isNo).map { !$0 }
        case .firstAtOnce: delegates.first(asking: .concurrently, where: isNo).map { $0 == nil }
        case .collect: delegates.collect(isYes).map { !$0.contains(false) }
        case .allPromisedAtOnce: delegates.all(asking: .concurrently, yes)
        case .anyPromisedAtOnce: delegates.any(asking: .concurrently, no).map { !$0 }
        case .firstPromisedAtOnce: delegates.first(asking: .concurrently, where: no).map { $0 == nil }
        case .collectDeferred: delegates.collectDeferred(yes).map { !$0.contains(false) }
        }
    }
}
