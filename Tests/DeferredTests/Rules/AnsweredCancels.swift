import Deferred
import DeferredTesting
import TestSupport
import Testing

/// C5: a cancel that was answered has ended, wherever a later one comes from; from below what follows as well.
@Suite("Answered cancels", .watchdog, .silentDiagnostics)
struct AnsweredCancelTests {
    /// What answers a cancel, what that leads to, and the sources, which are kept from being abandoned.
    struct Source {
        let deferred: Deferred<Int>
        let inner: Deferred<Int>
        let kept: [Deferred<Int>]
    }

    /// How something above answers a first cancel: by an errback, or a canceller's value, that leads to `inner`.
    enum Answer: CaseIterable {
        case orElse, thenResult, canceller, pair, nestedFollow, dispatched, detached

        func source() -> Source {
            let (inner, between) = (Deferred<Int>(), Deferred<Int>())
            let source = self == .canceller ? Deferred<Int>(canceller: { $0.resolve(7) }) : Deferred<Int>()
            let deferred: Deferred<Int> =
                switch self {
                case .orElse: source.orElse { _ in inner }
                case .thenResult: source.thenResult { _ in inner }
                case .canceller: source.then { _ in inner }
                case .pair: source.then({ _ in inner }, orElse: { _ in inner })
                case .nestedFollow: between.map { $0 }
                case .dispatched: source.orElse(on: AtOnce()) { _ in inner }
                case .detached: source.orElse { _ in inner }
                }
            if self == .nestedFollow { between.follow(source.orElse { _ in inner }) }
            if self == .detached { source.done { _ in } }
            return Source(deferred: deferred, inner: inner, kept: [source, between])
        }
    }

    /// What a cancel comes from.
    enum Below: CaseIterable {
        case follow, resolver, mapped, retry, semaphore, timeout, twoFollows, asList, none

        func attach(to source: Deferred<Int>) -> Deferred<Int> {
            switch self {
            case .follow:
                let deferred = Deferred<Int>()
                deferred.follow(source)
                return deferred
            case .resolver:
                let (deferred, resolver) = Deferred<Int>.withResolver()
                resolver.follow(source)
                return deferred.map { $0 }
            case .mapped:
                let deferred = Deferred<Int>()
                deferred.follow(source)
                return deferred.map { $0 }.map { $0 }
            case .retry: return Deferred.retry(attempts: 2) { source }
            case .semaphore: return DeferredSemaphore(1).run { source }
            case .timeout: return source.timeout(.seconds(100), timer: ManualClock()) { 1 }
            case .twoFollows:
                let (first, second) = (Deferred<Int>(), Deferred<Int>())
                first.follow(source)
                second.follow(first.map { $0 })
                return second.map { $0 }
            case .asList: return DeferredList([source], limit: 1) { $0 }.values().map { $0[0] }
            case .none: return source.map { $0 }
            }
        }
    }

    private func isCancelled(_ deferred: Deferred<Int>) -> Bool {
        if case .failure(let error)? = deferred.currentResult { error is CancellationError } else { false }
    }

    @Test(
        "C5: a cancel after one that was answered is a new cancel", arguments: Answer.allCases, Below.allCases
    )
    func secondCancel(_ answer: Answer, _ below: Below) throws {
        let source = answer.source()
        let end = below.attach(to: source.deferred)
        end.cancel()
        guard below != .asList else {
            #expect(isCancelled(end) && !source.inner.isSettled)
            return
        }
        #expect(!end.isSettled && !source.inner.isSettled)
        end.cancel()
        #expect(isCancelled(source.inner))
        if below != .timeout { #expect(isCancelled(end)) }
    }

    @Test("C5: three cancels end three stages", arguments: [Below.follow, .resolver, .mapped, .twoFollows])
    func threeCancels(_ below: Below) throws {
        let inner = (0..<3).map { _ in Deferred<Int>() }
        let start = Deferred<Int>()
        let end = below.attach(
            to: start.orElse { _ in inner[0].orElse { _ in inner[1].orElse { _ in inner[2] } } })
        end.cancel()
        for stage in 0..<3 {
            #expect(!end.isSettled && !inner[stage].isSettled)
            end.cancel()
            #expect(isCancelled(inner[stage]))
        }
        #expect(isCancelled(end))
    }

    @Test(
        "C5: after an answered cancel, an explicit completion reaches the consumer",
        arguments: Answer.allCases)
    func completedAfterwards(_ answer: Answer) throws {
        let source = answer.source()
        let followed = Deferred<Int>()
        followed.follow(source.deferred)
        let end = followed.map { $0 + 1 }
        end.cancel()
        #expect(followed.resolve(4))
        #expect(try successResult(of: end) == 5)
        #expect(!isCancelled(source.inner), "the cancel took effect once")
    }

    @Test("C5: what is followed after an answered cancel is not cancelled")
    func followedAfterwards() throws {
        let source = Answer.orElse.source()
        let followed = Deferred<Int>()
        followed.follow(source.deferred)
        followed.cancel()
        let other = Deferred<Int>()
        followed.follow(other)
        #expect(!other.isSettled && !source.inner.isSettled)
        other.resolve(2)
        #expect(try successResult(of: followed) == 2)
    }

    @Test("C5: a time limit holds after an answered cancel", arguments: Answer.allCases)
    func timeLimitAfterwards(_ answer: Answer) throws {
        let clock = ManualClock()
        let source = answer.source()
        let followed = Deferred<Int>()
        followed.follow(source.deferred)
        let limited = followed.map { $0 }.timeout(.seconds(1), timer: clock)
        followed.cancel()
        #expect(!limited.isSettled)
        clock.advance(by: .seconds(1))
        #expect(try failureResult(of: limited, as: DeferredError.self) == .timedOut)
        #expect(isCancelled(source.inner))
    }

    @Test("C5: a cycle after an answered cancel is a cycle")
    func cycleAfterwards() throws {
        let followed = Deferred<Int>()
        let (start, late) = (Deferred<Int>(), Deferred<Int>())
        let end = followed.map { $0 }
        followed.follow(start.orElse { _ in late.then { _ in end } })
        end.cancel()
        #expect(!end.isSettled)
        late.resolve(1)
        #expect(try failureResult(of: end, as: DeferredError.self) == .cycle)
    }

    @Test("C5: a cancel from the errback that answers the first one reaches what that returns")
    func fromTheAnsweringErrback() throws {
        let (source, inner, followed) = (Deferred<Int>(), Deferred<Int>(), Deferred<Int>())
        let end = followed.map { $0 }
        followed.follow(
            source.orElse { _ in
                end.cancel()
                return inner
            })
        end.cancel()
        #expect(isCancelled(inner))
        #expect(isCancelled(end))
    }

    @Test("C5: a completion while the error of a cancel comes down leaves the consumer cancelled")
    func completedWhileTheErrorComesDown() throws {
        let (source, followed) = (Deferred<Int>(), Deferred<Int>())
        followed.follow(
            source.orElse { error throws -> Deferred<Int> in
                followed.resolve(3)
                throw error
            })
        let end = followed.map { $0 }
        end.cancel()
        #expect(try successResult(of: followed) == 3)
        #expect(isCancelled(end))
    }

    @Test("C5: of two that are followed, the cancel ends when both have answered it")
    func twoFollowed() throws {
        let (first, second, followed) = (Answer.orElse.source(), Answer.canceller.source(), Deferred<Int>())
        followed.follow(first.deferred)
        followed.follow(second.deferred)
        let end = followed.map { $0 }
        end.cancel()
        #expect(!end.isSettled)
        end.cancel()
        #expect(isCancelled(end) && isCancelled(first.inner) && isCancelled(second.inner))
    }

    /// Runs its work at once.
    private struct AtOnce: Dispatcher {
        func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
    }
}
