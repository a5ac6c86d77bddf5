import Deferred
import DeferredTesting
import Dispatch
import TestSupport

/// What the closures of a function see: has them run for one that passes them with the values "call" (data sources:
/// requested with "request"), where "runner" is bound. Each closure notes what it sees.
typealias Sighting = @Sendable (_ probe: TaskLocalProbe) async throws -> Void

@discardableResult
func asCall<R>(_ body: () throws -> R) rethrows -> R { try TaskLocalProbe.with("call", body) }
@discardableResult
func asRunner<R>(_ body: () throws -> R) rethrows -> R { try TaskLocalProbe.with("runner", body) }
@discardableResult
func asRequest<R>(_ body: () throws -> R) rethrows -> R { try TaskLocalProbe.with("request", body) }

extension Deferred {
    var ended: Deferred<Void> { both { _ in } }
}

/// The functions of the chain, and those that create Deferreds.
enum ChainSights {
    /// Calls `attach` as the call with a pending Deferred, which is then settled, and waits for what that returned.
    private static func settling(
        _ result: Result<Int, any Error> = .success(1), _ attach: (Deferred<Int>) -> [Deferred<Void>]
    ) async throws {
        let (page, resolver) = Deferred<Int>.withResolver()
        let attached = asCall { attach(page) }
        asRunner { _ = resolver.complete(with: result) }
        _ = try await DeferredList(attached).results().value
    }

    /// The operators, by name: each has all of its forms noted.
    static let operators = Dictionary(grouping: OperatorForm.all, by: { "Deferred.\($0.function)" })
        .mapValues { forms -> Sighting in
            { probe in
                for form in forms {
                    try await settling(form.seen) {
                        let body = OperatorForm.Body { .resolved(try probe.noting($0).get()) }
                        return [form.attachIgnoringValue(to: $0, body)]
                    }
                }
            }
        }

    static let all: [String: Sighting] = [
        "Deferred.finally": { probe in
            let ended = Deferred<Void>()
            try await settling {
                $0.finally { _ in probe.note() }.finally(on: MainActor.self) { _ in
                    probe.note()
                    ended.resolve()
                }
                return [$0.ended]
            }
            try await ended.value
        },
        "Deferred.init": { probe in
            _ = try await asCall {
                Deferred<Int>(on: MainActor.self) { resolver in
                    // Submitted to the main actor by the call itself.
                    TaskLocalProbe.$plain.withValue("runner") { probe.note() }
                    resolver.resolve(1)
                }
            }.value
            for isOnMainActor in [false, true] {
                let stopped = asCall {
                    isOnMainActor
                        ? Deferred<Int>(on: MainActor.self, canceller: { _ in probe.note() })
                        : Deferred<Int>(canceller: { _ in probe.note() })
                }
                asRunner { stopped.cancel() }
                _ = await stopped.result
            }
        },
        "Deferred.init(operation:)": { probe in
            _ = try await asCall {
                Deferred {
                    try await Task.sleep(for: .zero); return probe.noting(1)
                }
            }.value
        },
        "Deferred.withResolver": { probe in
            for isOnMainActor in [false, true] {
                let (stopped, resolver) = asCall {
                    isOnMainActor
                        ? Deferred<Int>.withResolver(on: MainActor.self, canceller: { _ in probe.note() })
                        : Deferred<Int>.withResolver(canceller: { _ in probe.note() })
                }
                asRunner { stopped.cancel() }
                _ = await stopped.result
                withExtendedLifetime(resolver) {}
            }
        },
        "Deferred.resolve": { probe in
            let page = Deferred<Int>()
            asCall { _ = page.resolve(1) }
            asCall { _ = page.resolve(2, onUndelivered: { _ in }) }
            var lost: Deferred<Int>? = Deferred()
            asCall { _ = lost?.resolve(1, onUndelivered: { _ in probe.note() }) }
            asRunner { lost = nil }
        },
        "Deferred.Resolver.resolve": { probe in
            var (lost, resolver): (Deferred<Int>?, Deferred<Int>.Resolver) = Deferred.withResolver()
            asCall { _ = resolver.resolve(1, onUndelivered: { _ in probe.note() }) }
            asRunner { lost = nil }
        },
        "Deferred.resolved": { probe in
            var lost: Deferred<Int>? = asCall { Deferred.resolved(1, onUndelivered: { _ in probe.note() }) }
            asRunner { lost = nil }
            _ = lost
        },
        "Deferred.timeout": { probe in
            let clock = ManualClock()
            let limited = asCall {
                [
                    Deferred.never().timeout(.seconds(1), timer: clock) { probe.noting(1) },
                    Deferred.never().timeout(.seconds(1), timer: clock) { _ in probe.noting(1) },
                    Deferred.never().timeout(.seconds(1), on: MainActor.self, timer: clock) {
                        probe.noting(1)
                    },
                    Deferred.never().timeout(.seconds(1), on: MainActor.self, timer: clock) { _ in
                        probe.noting(1)
                    },
                    Deferred.never().timeout(until: Deadline(after: .seconds(1), timer: clock)) {
                        probe.noting(1)
                    },
                ]
            }
            asRunner { clock.advance(by: .seconds(2)) }
            _ = try await DeferredList(limited).values().value
        },
    ]
}
