import Deferred

/// A handle or resolver that completes a scenario's Deferred.
enum ScenarioSource {
    case deferred(Deferred<Token>)
    case resolver(Deferred<Token>.Resolver)

    func complete(with outcome: Result<Token, any Error>) -> Bool {
        switch self {
        case .deferred(let deferred): deferred.complete(with: outcome)
        case .resolver(let resolver): resolver.complete(with: outcome)
        }
    }
}

extension Replayer {
    func make(_ name: String, canceller steps: [ScenarioStep]?) throws {
        let canceller = steps.map { steps in
            { @Sendable (resolver: Deferred<Token>.Resolver) in self.runCanceller(of: name, steps, resolver) }
        }
        switch (making, canceller) {
        case (.initializer, nil):
            let deferred = Deferred<Token>()
            setNewest(name, ScenarioHandle(deferred))
            producers[name] = .deferred(deferred)
        case (.initializer, let canceller?):
            let deferred = Deferred<Token>(canceller: canceller)
            setNewest(name, ScenarioHandle(deferred))
            producers[name] = .deferred(deferred)
        case (.resolver, let canceller):
            let (deferred, resolver) = Deferred<Token>.withResolver(canceller: canceller)
            setNewest(name, ScenarioHandle(deferred))
            producers[name] = .resolver(resolver)
        }
    }

    /// While a canceller runs, the scenario completes through its own resolver.
    private func runCanceller(of name: String, _ steps: [ScenarioStep], _ resolver: Deferred<Token>.Resolver)
    {
        trace.append("canceller \(name)")
        let producer = producers[name]
        producers[name] = .resolver(resolver)
        defer { producers[name] = producer }
        do {
            for step in steps { try run(step) }
        } catch {
            trace.append("\(error)")
        }
    }

    /// Completes, and records why if that was refused.
    func fire(_ name: String, _ written: String) throws {
        let producer = try producers[name] ?? .deferred(newest(name).chain())
        let reportsBefore = reports.count
        guard !producer.complete(with: Result(written: written)) else { return }
        let refusal =
            switch reports[reportsBefore...].first {
            case .alreadySettled: "already-called"
            case .notCompletable: "not-fireable"
            case nil: "dropped"
            case let report?: "\(report)"
            }
        trace.append("fire \(name) \(written): \(refusal)")
    }
}
