import Deferred
import DeferredTesting

/// Callbacks that return Deferreds, and the library's own loops.
let nesting: [Shape] =
    waiting("nested waits for one") { n in
        let inner = Deferred<Int>.never()
        return (0..<n).map { _ in Deferred.resolved(1).then { _ in inner } }
    }
    + [
        Shape("nested n deep, completed") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            var outer = source
            meter("attached") {
                for _ in 0..<n {
                    let inner = outer
                    outer = Deferred.resolved(1).then { _ in inner }
                }
            }
            meter("completed") { _ = resolver.resolve(1) }
        },
        Shape("nested n deep, cancelled") { n, meter in
            var outer = Deferred<Int>.never()
            for _ in 0..<n {
                let inner = outer
                outer = Deferred.resolved(1).then { _ in inner }
            }
            meter("cancelled") { outer.cancel() }
            outer.quiet()
        },
        Shape("a recursion of n steps with n consumers") { n, meter in
            let waiting = Waiting()
            @Sendable func loop(_ rest: Int) -> Deferred<Int> {
                waiting.next().then { rest > 0 ? loop(rest - 1) : .resolved(1) }
            }
            let result = loop(n)
            let users = (0..<n).map { _ in result.map { $0 } }
            meter("completed") { waiting.resolveAll() }
            precondition(users.allSatisfy(\.isSettled))
        },
        Shape("a recursion of n steps, cancelled") { n, meter in
            let waiting = Waiting()
            @Sendable func loop(_ rest: Int) -> Deferred<Int> {
                waiting.next().then { rest > 0 ? loop(rest - 1) : Deferred<Int>.never() }
            }
            let result = loop(n)
            meter("completed") { waiting.resolveAll() }
            meter("cancelled") { result.cancel() }
            result.quiet()
        },
        Shape("n nested waits below a link with n consumers") { n, meter in
            let first = Deferred<Int>.withResolver()
            var end = first.deferred
            var inner = sources(n)
            for source in inner { end = end.then { [deferred = source.deferred] _ in deferred } }
            let users = (0..<n).map { _ in end.map { $0 } }
            meter("completed") {
                _ = first.resolver.resolve(1)
                for source in inner { _ = source.resolver.resolve(1) }
            }
            inner = []
            precondition(users.allSatisfy(\.isSettled))
        },
        Shape("n attempts of retry with n consumers") { n, meter in
            let clock = ManualClock()
            let result = Deferred<Int>.retry(attempts: n, delay: .none, timer: clock) {
                Deferred.after(.seconds(1), timer: clock).map { throw Failed() }
            }
            let users = (0..<n).map { _ in result.map { $0 } }
            for user in users { user.quiet() }
            meter("completed") { _ = clock.advanceUntilIdle(atMost: .seconds(10 * n)) }
            precondition(users.allSatisfy(\.isSettled))
        },
        Shape("n runs of repeating with n consumers") { n, meter in
            let clock = ManualClock()
            let work = Deferred<Void>.repeating(every: .seconds(1), timer: clock) {
                Deferred.after(.milliseconds(1), timer: clock)
            }
            let users = (0..<n).map { _ in work.map {} }
            meter("completed") { clock.advance(by: .seconds(n)) }
            meter("cancelled") { work.cancel() }
            for user in users { user.quiet() }
        },
        Shape("n sources that follow one with n consumers") { n, meter in
            let shared = Deferred<Int>.withResolver()
            let users = (0..<n).map { _ in shared.deferred.map { $0 } }
            let target = sources(n)
            let consumers = target.map { source in (0..<4).map { _ in source.deferred.map { $0 } } }
            meter("attached") { for source in target { source.resolver.follow(shared.deferred.map { $0 }) } }
            meter("completed") { _ = shared.resolver.resolve(1) }
            withExtendedLifetime((users, consumers)) {}
        },
        Shape("n followers of one with n consumers, each ended before the next") { n, meter in
            let shared = Deferred<Int>()
            let consumers = (0..<n).map { _ in shared.map { $0 } }
            meter("cancelled") {
                for _ in 0..<n {
                    let (follower, resolver) = Deferred<Int>.withResolver()
                    resolver.follow(shared)
                    follower.cancel()
                }
            }
            meter("completed") {
                for _ in 0..<n {
                    let (_, resolver) = Deferred<Int>.withResolver()
                    resolver.follow(shared)
                    resolver.resolve(1)
                }
            }
            shared.resolve(1)
            withExtendedLifetime(consumers) {}
        },
        Shape("a result with n consumers that follows n in turn") { n, meter in
            let result = Deferred<Int>()
            let users = (0..<n).map { _ in result.map { $0 } }
            let others = sources(n)
            meter("attached") { for other in others { result.follow(other.deferred.map { $0 }) } }
            meter("completed") { _ = result.resolve(1) }
            withExtendedLifetime(users) {}
        },
    ]

/// Steps of a recursion that wait.
final class Waiting: @unchecked Sendable {
    /// Sound: of one thread.
    private var last: Deferred<Void>.Resolver?

    func next() -> Deferred<Void> {
        let (deferred, resolver) = Deferred<Void>.withResolver()
        last = resolver
        return deferred
    }

    func resolveAll() {
        while let resolver = last.take() { _ = resolver.resolve() }
    }
}
