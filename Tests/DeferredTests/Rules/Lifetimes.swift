import Deferred
import Testing

extension Rules {
    @Suite("Rule A2: lifetimes") struct Lifetimes {
        /// How a Deferred comes to its end.
        enum Ending: CaseIterable {
            case value, failure, cancelled, cancelledFromBelow, abandoned, drop
        }

        /// One way to attach something to a Deferred; what is attached captures lives.
        struct Operator: Sendable, CustomTestStringConvertible {
            let testDescription: String
            /// Gives what cancels what was attached, and keeps it.
            let attach: @Sendable (_ source: Deferred<Int>, _ lives: Lives) -> @Sendable () -> Void

            init<Value>(
                _ name: String, _ attach: @escaping @Sendable (Deferred<Int>, Lives.Life) -> Deferred<Value>
            ) {
                testDescription = name
                self.attach = { source, lives in
                    let attached = attach(source, lives.begin())
                    return { attached.cancel() }
                }
            }
        }

        static let operators: [Operator] = [
            Operator("then, plain") { source, life in
                source.then {
                    life.use(); return $0
                }
            },
            Operator("then, nested") { source, life in
                source.then {
                    life.use(); return Deferred.resolved($0)
                }
            },
            Operator("then, Void") { source, life in source.then { _ in life.use() } },
            Operator("then, dispatched") { source, life in
                source.then(on: InlineDispatcher()) {
                    life.use(); return $0
                }
            },
            Operator("then, dropped by its dispatcher") { source, life in
                source.then(on: DroppingDispatcher()) {
                    life.use(); return $0
                }
            },
            Operator("fail, plain") { source, life in
                source.fail { _ in
                    life.use(); return 0
                }
            },
            Operator("fail, nested") { source, life in
                source.fail { _ in
                    life.use(); return Deferred.resolved(0)
                }
            },
            Operator("fail, Void") { source, life in source.fail { _ -> Void in life.use() } },
            Operator("fail, typed") { source, life in
                source.fail(Boom.self) { _ in
                    life.use(); return 0
                }
            },
            Operator("fail, that throws") { source, life in
                source.fail { error -> Int in
                    life.use(); throw error
                }
            },
            Operator("both") { source, life in
                source.both {
                    life.use(); return try $0.get()
                }
            },
            Operator("pair") { source, life in
                source.then(
                    {
                        life.use(); return $0
                    },
                    fail: { _ in
                        life.use(); return 0
                    })
            },
            Operator("thenReturn") { source, life in source.thenReturn(life) },
            Operator("finally") { source, life in source.finally { _ in life.use() }.then { $0 } },
            Operator("finally, dispatched") { source, life in
                source.finally(on: InlineDispatcher()) { _ in life.use() }.then { $0 }
            },
            Operator("shielded") { source, life in
                source.shielded().then {
                    life.use(); return $0
                }
            },
            Operator("follow") { source, life in
                let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { _ in life.use() })
                resolver.follow(source)
                return deferred.then {
                    life.use(); return $0
                }
            },
            Operator("chain(to:)") { source, life in
                let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { _ in life.use() })
                source.chain(to: resolver)
                return deferred
            },
            Operator("a nested wait") { source, life in
                Deferred.resolved(0).then { _ in
                    life.use(); return source
                }.then {
                    life.use(); return $0
                }
            },
            Operator("values") { source, life in
                DeferredList([source, .resolved(1)]).values().then {
                    life.use(); return $0.count
                }
            },
            Operator("results") { source, life in
                DeferredList([source]).results().then {
                    life.use(); return $0.count
                }
            },
            Operator("first") { source, life in
                DeferredList([source, source], cancelsRemaining: true).first().then {
                    life.use(); return $0.index
                }
            },
            Operator("gather") { source, life in
                gather(source, source).then {
                    life.use(); return $0 + $1
                }
            },
            Operator("a list with a limit") { source, life in
                // A handle that can fire the source would keep it from being abandoned.
                let position = source.then { $0 }
                return DeferredList(0..<3, limit: 1) { _ in
                    life.use(); return position
                }.values().then { $0.count }
            },
            Operator("completed") { source, life in
                let position = source.then { $0 }
                let completed = DeferredList(0..<2, limit: 1) { _ in
                    life.use(); return position
                }.completed
                return source.then { _ in withExtendedLifetime(completed) {} }
            },
            Operator("paused and unpaused") { source, life in
                let position = source.then {
                    life.use(); return $0
                }
                position.pause()
                let last = position.then {
                    life.use(); return $0
                }
                position.unpause()
                return last
            },
        ]

        @Test(
            "A2: what an operator captured is freed when its Deferred has ended, though handles are kept",
            arguments: operators, Ending.allCases)
        func freed(by attached: Operator, ending: Ending) {
            let lives = Lives()
            _ = reports {
                do {
                    var source: Deferred<Int>? = Deferred<Int>(canceller: { [life = lives.begin()] _ in
                        life.use()
                    })
                    let cancel = attached.attach(source!, lives)
                    #expect(lives.alive > 0)
                    switch ending {
                    case .value: source!.resolve(1)
                    case .failure: source!.reject(Boom(1))
                    case .cancelled: source!.cancel()
                    case .cancelledFromBelow: cancel()
                    case .abandoned, .drop: source = nil
                    }
                    // The outcome is kept: of these only thenReturn's is a life. A cancelled shield leaves
                    // its source pending.
                    let keepsMore = attached.testDescription == "thenReturn" && ending == .value
                    let isPending = ending == .cancelledFromBelow && source.map(outcome) == "pending"
                    if !keepsMore && !isPending && ending != .drop { #expect(lives.alive == 0) }
                    if isPending {
                        source!.resolve(1)
                        #expect(lives.alive == 0)
                    }
                    if ending != .drop { withExtendedLifetime(cancel) {} }
                }
                #expect(lives.alive == 0)
            }
        }

        @Test("A2: a settled link holds nothing but its outcome, which goes with the last handle")
        func outcomeGoes() {
            let lives = Lives()
            let source = Deferred<Lives.Life>()
            var position: Deferred<Lives.Life>? = source.then { $0 }
            source.resolve(lives.begin())
            let other = source.then { _ in 1 }
            #expect(lives.alive == 1)
            position = nil
            #expect(lives.alive == 1)
            #expect(outcome(other) == "1")
            keep(source, position as Any)
        }

        @Test("A2: a value goes with the handles even if a Resolver is kept")
        func resolverKeepsNoValue() {
            let lives = Lives()
            var deferred: Deferred<Lives.Life>?
            let resolver: Resolver<Lives.Life>
            (deferred, resolver) = Deferred<Lives.Life>.withResolver()
            resolver.resolve(lives.begin())
            #expect(deferred != nil)
            deferred = nil
            #expect(lives.alive == 0)
            keep(resolver)
        }

        @Test("A2: a canceller is dropped when the Deferred fires, is cancelled or abandoned")
        func cancellerDropped() {
            for index in 0..<4 {
                let lives = Lives()
                let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { [life = lives.begin()] _ in
                    life.use()
                })
                var last: Resolver<Int>? = resolver
                #expect(lives.alive == 1)
                switch index {
                case 0: last!.resolve(1)
                case 1: last!.reject(Boom(1))
                case 2: deferred.cancel()
                default:
                    let position = Deferred<Int>(canceller: { [life = lives.begin()] _ in life.use() }).then {
                        $0
                    }
                    #expect(outcome(position) == "abandoned")
                    last!.resolve(1)
                }
                #expect(lives.alive == 0)
                last = nil
                _ = deferred.currentResult
            }
        }

        @Test("A2: a canceller that captures its own resolver or position leaves nothing behind")
        func cancellerCycle() {
            for isCancelled in [true, false] {
                let lives = Lives()
                do {
                    let holder = Box<Resolver<Int>?>(nil)
                    let (deferred, resolver) = Deferred<Int>.withResolver(canceller: {
                        [life = lives.begin()] _ in
                        life.use()
                        holder.value?.reject(Boom(1))
                    })
                    holder.value = resolver
                    deferred.fail { _ -> Void in }
                    if isCancelled { deferred.cancel() } else { resolver.resolve(1) }
                    holder.value = nil
                }
                #expect(lives.alive == 0)
            }
        }

        @Test(
            "A2: a cancelled consumer frees what it captured at once, though its source is pending and others consume it"
        )
        func cancelledConsumer() {
            let lives = Lives()
            let source = Deferred<Int>()
            let other = source.then { $0 }
            let position = source.then { [life = lives.begin()] value in
                life.use(); return value
            }
            let recovered = source.fail { [life = lives.begin()] _ in
                life.use(); return 1
            }
            position.cancel()
            recovered.cancel()
            #expect(lives.alive == 0)
            keep(source, other, position, recovered)
            source.resolve(1)
        }

        @Test("A2: a cancelled consumer's own value goes with its handles, though its source is pending")
        func cancelledConsumersValue() {
            let lives = Lives()
            let source = Deferred<Lives.Life?>()
            let other = source.then { $0 == nil }
            do {
                let recovered = source.fail { _ in lives.begin() }
                recovered.cancel()
                #expect(lives.alive == 1)
                keep(recovered)
            }
            #expect(lives.alive == 0)
            source.resolve(nil)
            #expect(outcome(other) == "true")
        }

        @Test("A2: one long-lived Deferred with many consumers that come and go stays small")
        func comeAndGo() {
            let lives = Lives()
            let source = Deferred<Lives.Life?>()
            let other = source.then { $0 == nil }
            for _ in 0..<1000 {
                let consumer = source.fail { [life = lives.begin()] _ in life }
                consumer.cancel()
            }
            #expect(lives.alive < 100)
            source.resolve(nil)
            #expect(lives.alive == 0)
            #expect(outcome(other) == "true")
        }

        @Test(
            "A2: a list that has fired keeps no outcomes and no handles but its own, though inputs are pending"
        )
        func firedList() {
            let lives = Lives()
            let (one, two) = (Deferred<Lives.Life>(), Deferred<Lives.Life>())
            do {
                let first = DeferredList([one, two]).first().then { [life = lives.begin()] _ in life.use() }
                one.resolve(lives.begin())
                #expect(outcome(first) == "()")
            }
            // The value that is left is the input's own.
            #expect(lives.alive == 1)
            two.resolve(lives.begin())
            #expect(lives.alive == 2)
        }

        @Test("A2: rings of captured handles go once they have fired, been cancelled or abandoned")
        func rings() {
            for index in 0..<3 {
                let lives = Lives()
                do {
                    let own = Box<Deferred<Int>?>(nil)
                    var source: Deferred<Int>? = Deferred<Int>()
                    let position = source!.both { [life = lives.begin()] result -> Int in
                        life.use()
                        _ = own.value
                        return try result.get()
                    }
                    own.value = position
                    position.fail { [life = lives.begin()] _ -> Void in
                        life.use()
                        _ = own.value
                    }
                    switch index {
                    case 0: source!.resolve(1)
                    case 1: source!.cancel()
                    default: source = nil
                    }
                    #expect(lives.alive == 0)
                }
            }
        }

        @Test("A2: a ring that fails with .cycle leaves nothing behind")
        func cycle() {
            let lives = Lives()
            do {
                let box = Box<Deferred<Int>?>(nil)
                let source = Deferred<Int>()
                let link = source.then { [life = lives.begin()] _ -> Deferred<Int> in
                    life.use()
                    let inner = box.value!
                    box.value = nil
                    return inner
                }
                box.value = link.then { [life = lives.begin()] in
                    life.use(); return $0
                }
                source.resolve(1)
                #expect(outcome(link) == "cycle")
            }
            #expect(lives.alive == 0)
        }

        @Test("A2: a callback held by a dispatcher is freed once it has run or been dropped")
        func dispatched() {
            for isRun in [true, false] {
                let lives = Lives()
                let queue = HandDispatcher()
                let position = Deferred.resolved(1).then(on: queue) { [life = lives.begin()] in
                    life.use(); return $0
                }
                #expect(lives.alive == 1)
                if isRun { queue.runAll() } else { queue.drop() }
                #expect(lives.alive == 0)
                keep(position)
            }
        }

        @Test("A2: what a pause holds is freed when it is unpaused, or when its last handle goes")
        func paused() {
            for isUnpaused in [true, false] {
                let lives = Lives()
                var source: Deferred<Int>? = Deferred<Int>()
                source!.pause()
                let position = source!.then { [life = lives.begin()] in
                    life.use(); return $0
                }
                source!.finally { [life = lives.begin()] _ in life.use() }
                source!.resolve(1)
                #expect(lives.alive == 2)
                if isUnpaused { source!.unpause() } else { source = nil }
                #expect(lives.alive == 0)
                keep(position)
            }
        }

        @Test("A2: a callback that captures its own fireable handle is freed once it fires")
        func ownHandle() {
            let lives = Lives()
            do {
                let source = Deferred<Int>()
                source.then { [life = lives.begin()] _ in
                    life.use()
                    _ = source
                }
                source.resolve(1)
                #expect(lives.alive == 0)
            }
            #expect(lives.alive == 0)
        }
    }
}
