import Deferred
import DeferredTesting

/// What a clock has to do.
let timers: [Shape] =
    waiting("timers") { n in
        let clock = ManualClock()
        return (0..<n).map { number in
            Deferred.after(.seconds(number), timer: clock).map { withExtendedLifetime(clock) {} }
        }
    }
    + waiting("time limits") { n in
        let clock = ManualClock()
        let source = Deferred<Int>.never()
        return (0..<n).map { _ in
            source.timeout(.seconds(1), timer: clock).map { value in
                withExtendedLifetime(clock) {}
                return value
            }
        }
    }
    + waiting("repeating work") { n in
        let clock = ManualClock()
        return (0..<n).map { _ in Deferred<Void>.repeating(every: .seconds(1), timer: clock) {} }
    }
    + waiting("watchers of a clock") { n in
        let clock = ManualClock()
        return (0..<n).map { _ in clock.whenScheduled(3).map { withExtendedLifetime(clock) {} } }
    }
    + inEachOrder("timers, expired") { n, order, meter in
        let clock = ManualClock()
        let all = meter("attached") { order.map { Deferred.after(.seconds($0), timer: clock) } }
        meter("expired") { clock.advance(by: .seconds(n)) }
        precondition(all.allSatisfy(\.isSettled))
    }
    + inEachOrder("idle timers, each reset") { n, order, meter in
        let clock = ManualClock()
        let all = (0..<n).map { _ in IdleTimer(after: .seconds(1), timer: clock) }
        meter("reset") { for index in order { all[index].reset(.seconds(2)) } }
        meter("expired") { clock.advance(by: .seconds(2)) }
        for timer in all { timer.deferred.quiet() }
    }
    + [
        Shape("timers at one time, expired") { n, meter in
            let clock = ManualClock()
            let all = (0..<n).map { _ in Deferred.after(.seconds(1), timer: clock) }
            meter("expired") { clock.advance(by: .seconds(1)) }
            precondition(all.allSatisfy(\.isSettled))
        },
        Shape("repeating work, a step") { n, meter in
            let clock = ManualClock()
            let work = (0..<n).map { number in
                Deferred<Void>.repeating(every: .milliseconds(1000 + number), timer: clock) {}
            }
            meter("expired") { clock.advance(by: .seconds(2)) }
            for each in work { each.quiet() }
        },
        Shape("repeating work at one interval, a step") { n, meter in
            let clock = ManualClock()
            let work = (0..<n).map { _ in Deferred<Void>.repeating(every: .seconds(1), timer: clock) {} }
            meter("expired") { clock.advance(by: .seconds(2)) }
            for each in work { each.quiet() }
        },
        Shape("time limits of one, one in another, cancelled") { n, meter in
            let clock = ManualClock()
            var end = Deferred<Int>.never()
            meter("attached") { for _ in 0..<n { end = end.timeout(.seconds(1), timer: clock) } }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
        Shape("time limits of one, expired") { n, meter in
            let clock = ManualClock()
            let source = Deferred<Int>.never()
            let all = (0..<n).map { _ in source.timeout(.seconds(1), timer: clock) }
            meter("expired") { clock.advance(by: .seconds(1)) }
            for each in all { each.quiet() }
        },
        Shape("timers, one after another beside n that wait") { n, meter in
            let clock = ManualClock()
            let all = (0..<n).map { _ in Deferred.after(.seconds(1_000_000), timer: clock) }
            meter("expired") {
                for _ in 0..<n {
                    _ = Deferred.after(.seconds(1), timer: clock)
                    clock.advance(by: .seconds(1))
                }
            }
            for each in all { each.quiet() }
        },
        Shape("work without delay beside n that waits for the next moment") { n, meter in
            let clock = ManualClock()
            let all = (0..<n).map { number in Deferred.after(.milliseconds(number), timer: clock) }
            meter("run") {
                for _ in 0..<n { _ = clock.advanceToNext() }
            }
            precondition(all.allSatisfy(\.isSettled))
        },
        Shape("watchers of a clock, beside n timers") { n, meter in
            let clock = ManualClock()
            let watchers = (0..<n).map { clock.whenScheduled($0 + 1) }
            let all = meter("attached") { (0..<n).map { _ in Deferred.after(.seconds(1), timer: clock) } }
            precondition(watchers.allSatisfy(\.isSettled))
            for each in all { each.quiet() }
        },
        Shape("a clock with n timers, released") { n, meter in
            var clock: ManualClock? = ManualClock()
            let all = (0..<n).map { Deferred.after(.seconds($0), timer: clock!) }
            meter("released") { clock = nil }
            for each in all { each.quiet() }
        },
        Shape("work of a dispatcher, run") { n, meter in
            let dispatcher = ManualDispatcher()
            meter("submitted") { for _ in 0..<n { dispatcher.dispatch {} } }
            meter("run") { _ = dispatcher.run() }
        },
        Shape("work of a dispatcher, dropped") { n, meter in
            let dispatcher = ManualDispatcher()
            for _ in 0..<n { Deferred.resolved(1).map(on: dispatcher) { $0 }.quiet() }
            meter("released") { dispatcher.dropAll() }
        },
    ]
