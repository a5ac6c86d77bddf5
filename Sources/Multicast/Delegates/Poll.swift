import Deferred

/// A question that is put to all delegates, each on its dispatcher, without waiting for one another.
///
/// The answers are there before anybody is asked: what is attached to them first runs where they arrive.
struct Poll<Delegate, Answer: Sendable> {
    typealias Body = @Sendable (Delegate, Resolver<Answer?>) throws -> Void

    /// One answer for each delegate, in the order added; nil from one that has been deallocated or removed.
    let answers: [Deferred<Answer?>]

    private let registrations: [Registration]
    private let resolvers: [Resolver<Answer?>]
    private let registry: ListenerRegistry
    private let site: CallSite

    init(_ registry: ListenerRegistry, _ site: CallSite) {
        registrations = registry.snapshot().compactMap { $0 }
        let questions = registrations.map { _ in
            Deferred<Answer?>.withResolver(fileID: site.fileID, line: site.line)
        }
        answers = questions.map(\.deferred)
        resolvers = questions.map(\.resolver)
        self.registry = registry
        self.site = site
    }

    /// Asks the delegates: submits the question to those with a dispatcher, then calls the others.
    ///
    /// `body` completes the resolver. The work that is submitted retains neither a dispatcher nor the
    /// registry: if a dispatcher is released with it, the answer fails with `.abandoned`.
    func ask(_ body: @escaping Body) {
        for (registration, resolver) in zip(registrations, resolvers) where registration.isDispatched {
            guard registration.listener.recipient(in: registry) != nil else {
                resolver.resolve(nil, fileID: site.fileID, line: site.line)
                continue
            }
            guard let dispatcher = registration.dispatcher else { continue }
            dispatcher.dispatch { [listener = registration.listener, weak registry, site] in
                Self.put(body, to: listener, in: registry, resolver, site)
            }
        }
        for (registration, resolver) in zip(registrations, resolvers) where !registration.isDispatched {
            Self.put(body, to: registration.listener, in: registry, resolver, site)
        }
    }

    private static func put(
        _ body: Body, to listener: Listener, in registry: ListenerRegistry?,
        _ resolver: Resolver<Answer?>, _ site: CallSite
    ) {
        guard !resolver.isCancelled else { return }
        guard let object = listener.recipient(in: registry) else {
            resolver.resolve(nil, fileID: site.fileID, line: site.line)
            return
        }
        do {
            try body(MulticastDelegate<Delegate>.delegate(of: listener, object), resolver)
        } catch {
            resolver.reject(error, fileID: site.fileID, line: site.line)
        }
    }
}

extension Resolver {
    /// Completes an answer with the outcome of `promise`, which is cancelled if the answer was.
    func take<Answer: Sendable>(_ promise: Deferred<Answer>, _ site: CallSite) where Value == Answer? {
        let answer = promise.map({ Answer?.some($0) }, fileID: site.fileID, line: site.line)
        follow(answer)
        if isCancelled { answer.cancel() }
    }
}
