/// What a finalizer waits for: one firing, with all that follows from it (Z1).
///
/// A link with finalizers that settles opens a scope. The frame holds it while it tells those downstream;
/// whoever cannot be done within the frame (a link that waits for a nested one, work handed to a dispatcher,
/// a paused link) holds it until its own part is done. When nobody holds it any more everything has settled,
/// and its end runs the finalizers. ARC counts, and chains without finalizers pay nothing.
///
/// A scope holds the scopes it was opened in, so that a finalizer further downstream runs before one upstream
/// (Z2).
///
/// Sound as `@unchecked Sendable`: `outcome` never changes, the rest only in the end of this scope or of one
/// that holds the last reference to it.
@usableFromInline
final class Scope: @unchecked Sendable {
    private var finalizers: [Finalizer]
    private let outcome: Link.Content
    private var enclosing: [Scope]

    init(_ finalizers: [Finalizer], _ outcome: consuming Link.Content, in enclosing: Scope?) {
        self.finalizers = finalizers
        self.outcome = outcome
        self.enclosing = enclosing.map { [$0] } ?? []
    }

    private init(joining first: Scope, _ second: Scope) {
        finalizers = []
        outcome = .none
        enclosing = [first, second]
    }

    /// One scope that stands for both.
    static func join(_ first: Scope?, _ second: Scope?) -> Scope? {
        guard let first else { return second }
        guard let second, second !== first else { return first }
        return Scope(joining: first, second)
    }

    private func finish() {
        let added = finalizers
        finalizers = []
        for finalizer in added.reversed() { finalizer(outcome) }
    }

    deinit {
        finish()
        // A loop, since a chain of a million links with finalizers is as many scopes in one another (F6).
        var ending = enclosing
        enclosing = []
        while var scope = ending.popLast() {
            if isKnownUniquelyReferenced(&scope) {
                scope.finish()
                ending.append(contentsOf: scope.enclosing)
                scope.enclosing = []
            }
        }
    }
}

/// A finalizer as it was added. It runs once: if a dispatcher lets go of it without running it, it runs right
/// there, since a finalizer that is lost is a resource that is lost.
@usableFromInline
typealias Finalizer = @Sendable (borrowing Link.Content) -> Void
