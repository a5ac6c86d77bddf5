internal import Synchronization

/// What a finalizer waits for: one completion, with all that follows from it (Z1).
///
/// A link with finalizers opens a scope when it is settled. The drain loop retains the scope while it
/// notifies the links downstream. A link that cannot be finished within the drain loop (it waits for a nested
/// one, its step was submitted to a dispatcher, it is paused) retains the scope until its own part is
/// drained. The `deinit` of the scope runs the finalizers. Chains without finalizers pay nothing.
///
/// A scope retains the scopes that it was opened in, so that a finalizer further downstream runs before one
/// upstream (Z2). What comes after a finalizer that has a dispatcher waits until that has run.
///
/// Sound as `@unchecked Sendable`: `outcome` never changes; the other properties change only in the `deinit`
/// of this scope, or of one that has the last reference to it.
@usableFromInline
final class FinalizerScope: @unchecked Sendable {
    /// What ends no sooner than a scope.
    private enum Enclosing {
        /// The scopes that it was opened in.
        case scopes([FinalizerScope])
        /// Those that open later.
        case held(HeldScopes)

        mutating func takeAll() -> [FinalizerScope] {
            switch self {
            case .scopes(let scopes):
                self = .scopes([])
                return scopes
            case .held(let held): return held.takeAll()
            }
        }
    }

    /// A finalizer, and where it runs; without a dispatcher, where the scope ends.
    struct Entry: Sendable {
        let dispatcher: (any Dispatcher & AnyObject)?
        let run: Finalizer
    }

    private var finalizers: [Entry]
    private let outcome: Payload
    private var enclosing: Enclosing

    init(_ finalizers: [Entry], _ outcome: consuming Payload, in enclosing: [FinalizerScope]) {
        self.finalizers = finalizers
        self.outcome = outcome
        self.enclosing = .scopes(enclosing)
    }

    /// A scope for what a cancel ends ahead of what that has waited for: see ``HeldScopes``.
    init(holding held: HeldScopes) {
        finalizers = []
        outcome = .none
        enclosing = .held(held)
    }

    /// Whether this scope was opened in the one that holds others in `held`, directly or by way of others.
    fileprivate func isOpened(in held: HeldScopes) -> Bool {
        var left = [self]
        var seen: Set<ObjectIdentifier> = []
        while let scope = left.popLast() {
            guard seen.insert(ObjectIdentifier(scope)).inserted else { continue }
            switch scope.enclosing {
            case .scopes(let scopes): left += scopes
            case .held(let other):
                if other === held { return true }
                left += other.all
            }
        }
        return false
    }

    /// Lets a scope end no sooner than this one, which was made for that.
    func hold(_ scope: FinalizerScope) {
        if case .held(let held) = enclosing { held.hold(scope) }
    }

    private static let areAdded = Atomic<Bool>(false)

    /// Whether a finalizer was ever added. Lists whose inputs have none then need no scope when they are cancelled.
    static var areUsed: Bool { areAdded.load(ordering: .relaxed) }

    static func noteUse() { if !areUsed { areAdded.store(true, ordering: .relaxed) } }

    /// Returns a scope that retains both.
    static func join(_ first: FinalizerScope, _ second: FinalizerScope?) -> FinalizerScope {
        guard let second, second !== first else { return first }
        return FinalizerScope([], .none, in: [first, second])
    }

    /// Runs the finalizers, and returns the scopes that may end now. What comes after a finalizer that a
    /// dispatcher runs is a scope that its work retains, too.
    private func finish() -> [FinalizerScope] {
        while let last = finalizers.popLast() {
            guard let dispatcher = last.dispatcher else {
                last.run(outcome)
                continue
            }
            // The next ones on the same dispatcher run with it. Not the entries: work must not retain its
            // dispatcher (F4).
            var runs = [last.run]
            while let next = finalizers.last, next.dispatcher === dispatcher {
                runs.append(finalizers.removeLast().run)
            }
            // Retained here as well, so that finalizers that run within the call are not nested in one
            // another (F6).
            let rest = FinalizerScope(finalizers.takeAll(), outcome.copy(), in: enclosing.takeAll())
            dispatcher.dispatchGuaranteed { [runs] in
                for run in runs { run(rest.outcome) }
            }
            return [rest]
        }
        return enclosing.takeAll()
    }

    deinit {
        // A loop, since a chain of a million links with finalizers is as many scopes in one another (F6).
        var ending = finish()
        while var scope = ending.popLast() {
            if isKnownUniquelyReferenced(&scope) { ending += scope.finish() }
        }
    }
}

/// Scopes that end no sooner than one that was opened before them. A cancel may end something ahead of what that has waited
/// for: a list fails, and then its inputs are cancelled (D4); what waits behind a pause does not wait for the end of what is
/// paused (P1). What comes from upstream is upstream all the same, and its finalizers run later (Z2).
final class HeldScopes: Sendable {
    /// nil once that scope has ended.
    private let scopes: SpinLocked<[FinalizerScope]?>

    /// - Parameter scope: The first of them.
    init(_ scope: FinalizerScope? = nil) { scopes = SpinLocked(scope.map { [$0] } ?? []) }

    /// Two that each come to hold what is opened in the other would retain one another.
    private static let holding = SpinLocked(())

    /// Holds a scope, unless that was opened in the one that holds: what was cancelled may go on to wait for what is below.
    ///
    /// The caller has a reference to the scope, which retains what is searched: none is released under the lock.
    func hold(_ scope: FinalizerScope) {
        Self.holding.withLock { _ in
            if !scope.isOpened(in: self) { scopes.withLock { $0?.append(scope) } }
        }
    }

    fileprivate var all: [FinalizerScope] { scopes.withLock { $0 ?? [] } }

    fileprivate func takeAll() -> [FinalizerScope] {
        scopes.withLock { scopes in
            let all = scopes ?? []
            scopes = nil
            return all
        }
    }
}

/// A finalizer. It runs once. If a dispatcher releases it without running it, it runs at once, since it may
/// be what releases a resource.
@usableFromInline
typealias Finalizer = @Sendable (borrowing Payload) -> Void
