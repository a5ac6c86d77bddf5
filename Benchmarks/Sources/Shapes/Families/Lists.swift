import Deferred
import DeferredTesting

/// Inputs of one list, lists of one input, lists in one another.
let lists: [Shape] =
    inEachOrder("inputs of a list, completed") { n, order, meter in
        let inputs = sources(n)
        var result: Deferred<[Int]>? = meter("attached") { DeferredList(inputs.map(\.deferred)).values() }
        meter("completed") { for index in order { _ = inputs[index].resolver.resolve(1) } }
        precondition(result!.isSettled)
        meter("released") { result = nil }
    }
    + inEachOrder("inputs of a list, cancelled") { n, order, meter in
        let inputs = sources(n)
        let result = DeferredList(inputs.map(\.deferred)).results()
        meter("cancelled") { for index in order { inputs[index].deferred.cancel() } }
        precondition(result.isSettled)
    }
    + waiting("lists of one input") { n in
        let input = Deferred<Int>.never()
        return (0..<n).map { _ in DeferredList([input]).values() }
    }
    + waiting("results of one list") { n in
        let list = DeferredList([Deferred<Int>.never()])
        return (0..<n).map { _ in list.values() }
    }
    + waiting("races against one input") { n in
        let input = Deferred<Int>.never()
        return (0..<n).map { _ in DeferredList([input, .never()]).first() }.map { $0.map { $0.value } }
    }
    + [
        Shape("a list, cancelled") { n, meter in
            let inputs = sources(n)
            let result = DeferredList(inputs.map(\.deferred)).values()
            meter("cancelled") { result.cancel() }
            result.quiet()
        },
        Shape("a list that cancels what remains") { n, meter in
            let inputs = sources(n)
            let result = DeferredList(inputs.map(\.deferred), cancelsRemaining: true).first()
            meter("completed") { _ = inputs[n / 2].resolver.resolve(1) }
            precondition(result.isSettled)
        },
        Shape("a list that is decided early") { n, meter in
            let inputs = sources(n)
            let result = DeferredList(inputs.map(\.deferred)).first()
            meter("completed") { _ = inputs[n - 1].resolver.resolve(1) }
            precondition(result.isSettled)
            meter("completed the rest") { for input in inputs { _ = input.resolver.resolve(1) } }
        },
        Shape("one Deferred n times in a list") { n, meter in
            let (input, resolver) = Deferred<Int>.withResolver()
            let result = meter("attached") { DeferredList(Array(repeating: input, count: n)).values() }
            meter("completed") { _ = resolver.resolve(1) }
            precondition(result.isSettled)
        },
        Shape("races in turn, beside one that lives on") { n, meter in
            let long = Deferred<Int>.never()
            meter("decided") { for _ in 0..<n { _ = DeferredList([long, .resolved(1)]).first() } }
            meter("cancelled") { long.cancel() }
        },
        Shape("lists n deep, completed") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            var end = source
            meter("attached") { for _ in 0..<n { end = DeferredList([end]).values().map { $0[0] } } }
            meter("completed") { _ = resolver.resolve(1) }
        },
        Shape("lists n deep, cancelled") { n, meter in
            var end = Deferred<Int>.never()
            for _ in 0..<n { end = DeferredList([end]).values().map { $0[0] } }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
        Shape("lists of two, n deep, completed") { n, meter in
            let all = sources(n)
            var end = Deferred<Int>.resolved(1)
            for source in all { end = DeferredList([source.deferred, end]).values().map { $0[0] } }
            meter("completed") { for source in all.reversed() { _ = source.resolver.resolve(1) } }
        },
        Shape("gathers n deep, cancelled") { n, meter in
            var end = Deferred<Int>.never()
            let other = Deferred<Int>.never()
            for _ in 0..<n { end = gather(end, other).map { $0.0 } }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
        Shape("lists that n consumers have, each nested in it") { n, meter in
            let inputs = sources(n)
            let list = DeferredList(inputs.map(\.deferred)).values()
            let nested = (0..<n).map { _ in Deferred.resolved(1).then { _ in list } }
            meter("completed") { for input in inputs { _ = input.resolver.resolve(1) } }
            precondition(nested.allSatisfy(\.isSettled))
        },
        Shape("nested waits for a list of n") { n, meter in
            let inputs = sources(n)
            let list = DeferredList(inputs.map(\.deferred)).values()
            let users = (0..<8).map { _ in list.map { $0.count } }
            let outer = sources(n)
            let nested = outer.map { source in source.deferred.then { _ in list }.map { $0.count } }
            meter("attached") { for source in outer { _ = source.resolver.resolve(1) } }
            meter("completed") { for input in inputs { _ = input.resolver.resolve(1) } }
            precondition(nested.allSatisfy(\.isSettled) && users.allSatisfy(\.isSettled))
        },
    ]

/// Lists with a limit.
let limitedLists: [Shape] =
    waiting("results of a limited list") { n in
        let list = DeferredList([1], limit: 1) { _ in Deferred<Int>.never() }
        return (0..<n).map { _ in list.values() }
    }
    + waiting("firsts of a limited list") { n in
        let list = DeferredList([1], limit: 1) { _ in Deferred<Int>.never() }
        return (0..<n).map { _ in list.first().map { $0.value } }
    }
    + [
        Shape("inputs of a limited list, one at a time") { n, meter in
            let clock = ManualClock()
            let list = DeferredList(0..<n, limit: 1) { Deferred.after(.seconds(1), timer: clock, value: $0) }
            var result: Deferred<[Int]>? = list.values()
            meter("completed") { _ = clock.advanceUntilIdle(atMost: .seconds(2 * n)) }
            precondition(result!.isSettled)
            meter("released") { result = nil }
        },
        Shape("inputs of a limited list, settled at once") { n, meter in
            let list = DeferredList(0..<n, limit: 1) { .resolved($0) }
            let result = meter("started") { list.values() }
            precondition(result.isSettled)
        },
        Shape("inputs of a limited list, cancelled") { n, meter in
            let list = DeferredList(0..<n, limit: n) { _ in Deferred<Int>.never() }
            let result = meter("started") { list.values() }
            meter("cancelled") { list.cancel() }
            result.quiet()
        },
        Shape("n results of a limited list, completed") { n, meter in
            let (input, resolver) = Deferred<Int>.withResolver()
            let list = DeferredList([1], limit: 1) { _ in input }
            let results = meter("attached") { (0..<n).map { _ in list.values() } }
            meter("completed") { _ = resolver.resolve(1) }
            precondition(results.allSatisfy(\.isSettled))
        },
        Shape("limited lists in one another, cancelled") { n, meter in
            var end = Deferred<Int>.never()
            for _ in 0..<n {
                let inner = end
                end = DeferredList([1], limit: 1) { _ in inner }.values().map { $0[0] }
            }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
        Shape("a limited list with n consumers, one input at a time") { n, meter in
            let clock = ManualClock()
            let list = DeferredList(0..<n, limit: 1) { Deferred.after(.seconds(1), timer: clock, value: $0) }
            let result = list.values()
            let users = (0..<n).map { _ in result.map { $0.count } }
            meter("completed") { _ = clock.advanceUntilIdle(atMost: .seconds(2 * n)) }
            precondition(users.allSatisfy(\.isSettled))
        },
    ]

/// Pauses, and what waits behind them.
let pauses: [Shape] =
    waiting("consumers behind a pause") { n in
        let source = Deferred.resolved(1)
        source.pause()
        return (0..<n).map { _ in source.map { $0 } }
    }
    + [
        Shape("callbacks that each pause") { n, meter in
            let deferred = Deferred<Int>()
            for _ in 0..<n { deferred.done { _ in deferred.pause() } }
            meter("completed") { deferred.resolve(1) }
            meter("unpaused") { for _ in 0..<n { deferred.unpause() } }
        },
        Shape("pauses of one") { n, meter in
            let deferred = Deferred<Int>()
            deferred.done { _ in }
            meter("paused") { for _ in 0..<n { deferred.pause() } }
            deferred.resolve(1)
            meter("unpaused") { for _ in 0..<n { deferred.unpause() } }
        },
        Shape("pauses of each link of a chain") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            var all = [source]
            for _ in 0..<n { all.append(all.last!.map { $0 }) }
            meter("paused") { for link in all { link.pause() } }
            meter("completed") { _ = resolver.resolve(1) }
            meter("unpaused") { for link in all { link.unpause() } }
            precondition(all.last!.isSettled)
        },
        Shape("callbacks that pause, with chains behind them") { n, meter in
            let deferred = Deferred<Int>()
            for _ in 0..<n { deferred.map { $0 }.map { $0 }.done { _ in deferred.pause() } }
            meter("completed") { deferred.resolve(1) }
            meter("unpaused") { for _ in 0..<n { deferred.unpause() } }
        },
        Shape("a pause, released with its last handle") { n, meter in
            var source: Deferred<Int>? = Deferred<Int>()
            let users = (0..<n).map { _ in source!.map { $0 } }
            source!.pause()
            source!.resolve(1)
            meter("released") { source = nil }
            precondition(users.allSatisfy(\.isSettled))
        },
    ]
