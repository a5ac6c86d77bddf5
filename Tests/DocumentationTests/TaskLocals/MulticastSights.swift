import Deferred
import DeferredTesting
import Multicast
import TestSupport

/// Listeners, pairs of closures, and questions to delegates.
enum MulticastSights {
    private final class Owner: Sendable {}

    /// Has delegates on a dispatcher asked by the call; the dispatcher then runs what was submitted to it.
    private static func asking(
        _ ask: (MulticastDelegate<Owner>) -> [Deferred<Void>]
    ) async throws {
        let (delegates, owners, dispatcher) = (
            MulticastDelegate<Owner>(), [Owner(), Owner()], ManualDispatcher()
        )
        for owner in owners { delegates.add(owner, on: dispatcher) }
        let asked = asCall { ask(delegates) }
        _ = asRunner { dispatcher.run() }
        _ = try await DeferredList(asked).values().value
        withExtendedLifetime(owners) {}
    }

    static let all: [String: Sighting] = [
        "BroadcastChannel.listen": { probe in
            let (channel, owner) = (BroadcastChannel<Int>(), Owner())
            asCall {
                _ = channel.listen(owner) { _ in probe.note() }
                _ = channel.listen(owner) { _, _ in probe.note() }
                _ = channel.listen(owner, on: MainActor.self) { _ in probe.note() }
                _ = channel.listen(owner, on: MainActor.self) { _, _ in probe.note() }
            }
            asRunner { _ = channel.post(1) }
            await drainMainActor()
        },
        "MulticastClosures.add": { probe in
            let (closures, owner) = (MulticastClosures<Int, Refused>(), Owner())
            asCall {
                _ = closures.add(owner, success: { _ in probe.note() }, failure: { _ in probe.note() })
                _ = closures.add(owner, success: { _, _ in probe.note() }, failure: { _, _ in probe.note() })
                _ = closures.add(
                    owner, on: MainActor.self, success: { _ in probe.note() }, failure: { _ in probe.note() })
            }
            asRunner {
                for pair in closures.elements {
                    pair.succeed(1)
                    pair.fail(Refused())
                }
            }
            await drainMainActor()
        },
        "MulticastDelegate.notify": { probe in
            try await asking {
                $0.notify { _ in probe.note() }
                return []
            }
            try await asking {
                $0.notify { _ in probe.note() }
                return []
            }
        },
        "MulticastDelegate.collect": { probe in
            try await asking { [$0.collect { _ in probe.noting(1) }.ended] }
        },
        "MulticastDelegate.collectDeferred": { probe in
            try await asking { [$0.collectDeferred { _ in Deferred.resolved(probe.noting(1)) }.ended] }
        },
        "MulticastDelegate.all": { probe in
            try await asking {
                [
                    $0.all { _ in probe.noting(true) }.ended,
                    $0.all { _ in Deferred.resolved(probe.noting(true)) }.ended,
                    $0.all(asking: .concurrently) { _ in probe.noting(true) }.ended,
                ]
            }
        },
        "MulticastDelegate.any": { probe in
            try await asking {
                [
                    $0.any { _ in probe.noting(false) }.ended,
                    $0.any(asking: .concurrently) { _ in Deferred.resolved(probe.noting(false)) }.ended,
                ]
            }
        },
        "MulticastDelegate.first": { probe in
            try await asking {
                [
                    $0.first { _ in probe.noting(false) }.ended,
                    $0.first(asking: .concurrently) { _ in Deferred.resolved(probe.noting(false)) }.ended,
                ]
            }
        },
        "MulticastDelegate.reduce": { probe in
            try await asking {
                [
                    $0.reduce(over: 0) { sum, _ in .next(probe.noting(sum)) }.ended,
                    $0.reduce(into: 0) { sum, _ in sum += probe.noting(1) }.ended,
                ]
            }
        },
        "MulticastDelegate.reduceDeferred": { probe in
            try await asking {
                [
                    $0.reduceDeferred(over: 0) { sum, _ in
                        Deferred.resolved(MulticastStep.next(probe.noting(sum)))
                    }.ended
                ]
            }
        },
    ]
}
