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

    private static let failure = Result<Int, any Error>.failure(Refused())

    static let all: [String: Sighting] = [
        "Deferred.map": { probe in
            try await settling {
                [
                    $0.map { probe.noting($0) }.ended,
                    $0.map({ probe.noting($0) }, recover: { _ in 0 }).ended,
                    $0.map(on: MainActor.self) { probe.noting($0) }.ended,
                    $0.map(on: MainActor.self, { probe.noting($0) }, recover: { _ in 0 }).ended,
                ]
            }
        },
        "Deferred.then": { probe in
            try await settling {
                [
                    $0.then { Deferred.resolved(probe.noting($0)) }.ended,
                    $0.then({ Deferred.resolved(probe.noting($0)) }, orElse: { _ in .resolved(0) }).ended,
                    $0.then(on: MainActor.self) { Deferred.resolved(probe.noting($0)) }.ended,
                ]
            }
        },
        "Deferred.done": { probe in
            try await settling {
                [
                    $0.done { _ in probe.note() }, $0.done({ _ in probe.note() }, fail: { _ in }),
                    $0.done(on: MainActor.self) { _ in probe.note() },
                    $0.done(on: MainActor.self, { _ in probe.note() }, fail: { _ in }),
                ]
            }
        },
        "Deferred.mapResult": { probe in
            try await settling {
                [
                    $0.mapResult { _ in probe.note() }.ended,
                    $0.mapResult(on: MainActor.self) { _ in probe.note() }.ended,
                ]
            }
        },
        "Deferred.thenResult": { probe in
            try await settling {
                [
                    $0.thenResult { _ in Deferred.resolved(probe.noting(1)) }.ended,
                    $0.thenResult(on: MainActor.self) { _ in Deferred.resolved(probe.noting(1)) }.ended,
                ]
            }
        },
        "Deferred.both": { probe in
            try await settling {
                [$0.both { _ in probe.note() }, $0.both(on: MainActor.self) { _ in probe.note() }]
            }
        },
        "Deferred.always": { probe in
            try await settling {
                [
                    $0.always { _ in probe.note() }.ended,
                    $0.always(on: MainActor.self) { _ in probe.note() }.ended,
                ]
            }
        },
        "Deferred.recover": { probe in
            try await settling(failure) {
                [
                    $0.recover { _ in probe.noting(1) }.ended,
                    $0.recover(Refused.self) { _ in probe.noting(1) }.ended,
                    $0.recover(on: MainActor.self) { _ in probe.noting(1) }.ended,
                    $0.recover(Refused.self, on: MainActor.self) { _ in probe.noting(1) }.ended,
                ]
            }
        },
        "Deferred.orElse": { probe in
            try await settling(failure) {
                [
                    $0.orElse { _ in Deferred.resolved(probe.noting(1)) }.ended,
                    $0.orElse(Refused.self) { _ in Deferred.resolved(probe.noting(1)) }.ended,
                    $0.orElse(on: MainActor.self) { _ in Deferred.resolved(probe.noting(1)) }.ended,
                ]
            }
        },
        "Deferred.fail": { probe in
            try await settling(failure) {
                [
                    $0.fail { _ in probe.note() }, $0.fail(Refused.self) { _ in probe.note() },
                    $0.fail(.exceptCancellation) { _ in probe.note() },
                    $0.fail(on: MainActor.self) { _ in probe.note() },
                    $0.fail(.exceptCancellation, on: MainActor.self) { _ in probe.note() },
                ]
            }
        },
        "Deferred.mapError": { probe in
            try await settling(failure) {
                [
                    $0.mapError { probe.noting($0) }.ended,
                    $0.mapError(on: MainActor.self) { probe.noting($0) }.ended,
                ]
            }
        },
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
        "Deferred.asyncMap": { probe in
            try await settling { [$0.asyncMap { probe.noting($0) }.ended] }
        },
        "Deferred.asyncDone": { probe in
            try await settling { [$0.asyncDone { _ in probe.note() }] }
        },
        "Deferred.asyncRecover": { probe in
            try await settling(failure) { [$0.asyncRecover { _ in probe.noting(1) }.ended] }
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
