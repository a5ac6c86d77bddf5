import Deferred
import DeferredTesting

/// Consumers of one Deferred, and chains of them.
let chains: [Shape] =
    waiting("consumers of one") { n in
        let source = Deferred<Int>.never()
        return (0..<n).map { _ in source.map { $0 } }
    }
    + waiting("consumers of one with a finalizer") { n in
        let source = Deferred<Int>.never().finally { _ in }
        return (0..<n).map { _ in source.map { $0 } }
    }
    + waiting("shields of one") { n in
        let source = Deferred<Int>.never()
        return (0..<n).map { _ in source.shielded() }
    }
    + waiting("followers of one") { n in
        let source = Deferred<Int>.never()
        return (0..<n).map { _ in
            let (deferred, resolver) = Deferred<Int>.withResolver()
            resolver.follow(source)
            return deferred
        }
    }
    + waiting("dispatched consumers of a settled one") { n in
        let dispatcher = ManualDispatcher()
        return (0..<n).map { _ in Deferred.resolved(1).map(on: dispatcher) { $0 } }
    }
    + waiting("consumers of one that recover") { n in
        let source = Deferred<Int>.never()
        return (0..<n).map { _ in source.recover { _ in 1 } }
    }
    + [
        Shape("consumers of one, completed") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            var all = meter("attached") { (0..<n).map { _ in source.map { $0 } } }
            meter("completed") { _ = resolver.resolve(1) }
            meter("released") { all = [] }
            _ = all
        },
        Shape("consumers of one, rejected") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            let all = (0..<n).map { _ in source.recover { _ in 1 } }
            meter("completed") { _ = resolver.reject(Failed()) }
            withExtendedLifetime(all) {}
        },
        Shape("consumers of one, abandoned") { n, meter in
            var source: Source? = Deferred<Int>.withResolver()
            let all = (0..<n).map { _ in source!.deferred.recover { _ in 1 } }
            meter("released") { source = nil }
            withExtendedLifetime(all) {}
        },
        Shape("finalizers of one") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            meter("attached") { for _ in 0..<n { source.finally { _ in } } }
            meter("completed") { _ = resolver.resolve(1) }
        },
        Shape("a chain, completed") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            var end = source
            meter("attached") { for _ in 0..<n { end = end.map { $0 + 1 } } }
            meter("completed") { _ = resolver.resolve(1) }
        },
        Shape("a chain, cancelled at its end") { n, meter in
            var end = Deferred<Int>.never()
            for _ in 0..<n { end = end.map { $0 } }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
        Shape("a chain, abandoned") { n, meter in
            var source: Source? = Deferred<Int>.withResolver()
            var end = source!.deferred
            for _ in 0..<n { end = end.map { $0 } }
            meter("released") { source = nil }
            end.quiet()
        },
        Shape("a chain with a finalizer at each link") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            var end = source
            meter("attached") { for _ in 0..<n { end = end.map { $0 }.finally { _ in } } }
            meter("completed") { _ = resolver.resolve(1) }
        },
        Shape("a chain of followers, completed") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            var end = source
            meter("attached") {
                for _ in 0..<n {
                    let next = Deferred<Int>.withResolver()
                    next.resolver.follow(end)
                    end = next.deferred
                }
            }
            meter("completed") { _ = resolver.resolve(1) }
        },
        Shape("a chain of followers, cancelled at its end") { n, meter in
            var end = Deferred<Int>.never()
            for _ in 0..<n {
                let next = Deferred<Int>.withResolver()
                next.resolver.follow(end)
                end = next.deferred
            }
            meter("cancelled") { end.cancel() }
            end.quiet()
        },
        Shape("a chain of followers, built from its end") { n, meter in
            let all = sources(n)
            meter("attached") { for index in 1..<n { all[index].resolver.follow(all[index - 1].deferred) } }
            meter("completed") { _ = all[0].resolver.resolve(1) }
        },
        Shape("a chain of followers, built from its source") { n, meter in
            let all = sources(n)
            meter("attached") {
                for index in (1..<n).reversed() { all[index - 1].resolver.follow(all[index].deferred) }
            }
            meter("completed") { _ = all[n - 1].resolver.resolve(1) }
        },
        Shape("a source that follows n others, cancelled") { n, meter in
            let others = (0..<n).map { _ in Deferred<Int>.never() }
            let source = Deferred<Int>()
            meter("attached") { for other in others { source.follow(other) } }
            meter("cancelled") { source.cancel() }
            source.quiet()
        },
        Shape("a source that follows n others, completed") { n, meter in
            let others = (0..<n).map { _ in Deferred<Int>.never() }
            let source = Deferred<Int>()
            for other in others { source.follow(other) }
            meter("completed") { _ = source.resolve(1) }
            meter("cancelled") { for other in others { other.cancel() } }
        },
        Shape("shields of shields, cancelled at their end") { n, meter in
            var source: Source? = Deferred<Int>.withResolver()
            var end = source!.deferred
            meter("attached") { for _ in 0..<n { end = end.shielded() } }
            meter("cancelled") { end.cancel() }
            end.quiet()
            meter("released") { source = nil }
        },
        Shape("consumers at each link of a chain, cancelled") { n, meter in
            var end = Deferred<Int>.never()
            var users: [Deferred<Int>] = []
            for _ in 0..<n {
                end = end.map { $0 }
                users.append(end.map { $0 })
            }
            meter("cancelled") { for user in users { user.cancel() } }
            meter("cancelled the end") { end.cancel() }
            for user in users { user.quiet() }
            end.quiet()
        },
        Shape("values with onUndelivered, released") { n, meter in
            var all = (0..<n).map { _ in
                let (deferred, resolver) = Deferred<Int>.withResolver()
                resolver.resolve(1, onUndelivered: { _ in })
                return deferred
            }
            meter("released") { all = [] }
            _ = all
        },
        Shape("callbacks that attach a further one, in one another") { n, meter in
            let (source, resolver) = Deferred<Int>.withResolver()
            @Sendable func attach(_ rest: Int) { if rest > 0 { source.done { _ in attach(rest - 1) } } }
            attach(n)
            meter("completed") { _ = resolver.resolve(1) }
        },
        Shape("a bag, emptied") { n, meter in
            let bag = CancelBag()
            let all = sources(n)
            meter("attached") { for source in all { source.deferred.store(in: bag) } }
            meter("cancelled") { bag.cancelAll() }
        },
    ]
    + inEachOrder("a bag, whose contents are completed") { n, order, meter in
        let bag = CancelBag()
        let all = sources(n)
        for source in all { source.deferred.store(in: bag) }
        meter("completed") { for index in order { _ = all[index].resolver.resolve(1) } }
    }
