import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    /// A cancel that meets a canceller about to run, a cycle, or a pause. Found by random programs, and by readers.
    @Suite("Rules C1, C5, L5, P1, U1, Z1: cancels that meet something else") struct MeetingCancels {
        @Test("C1: a second cancel of several does not pass the canceller that answers the first")
        func canceledTwice() throws {
            let followed = Deferred<Int>()
            let source = Deferred<Int>(canceller: { $0.resolve(69) })
            source.follow(followed)
            let link = source.recover(DeferredError.self) { throw $0 }
            DeferredList([link, link]).cancel()
            #expect(try successResult(of: link) == 69)
            #expect(!followed.isSettled)
        }

        @Test("C1: a cancel from inside the canceller, from below, does not pass it")
        func cancelledFromTheCanceller() throws {
            let followed = Deferred<Int>()
            let end = Box<Deferred<Int>?>(nil)
            let source = Deferred<Int>(canceller: { own in
                end.value?.cancel()
                own.resolve(69)
            })
            source.follow(followed)
            end.value = source.map { $0 }
            end.value?.cancel()
            #expect(try successResult(of: #require(end.value)) == 69)
            #expect(!followed.isSettled)
            end.value = nil
        }

        @Test(
            "C1, C7: what is followed is cancelled after a canceller that does not answer, of one or of several"
        )
        func unanswered() {
            for count in 1...2 {
                let followed = Deferred<Int>()
                let source = Deferred<Int>(canceller: { _ in })
                source.follow(followed)
                let link = source.map { $0 }
                DeferredList(Array(repeating: link, count: count)).cancel()
                #expect([link, source, followed].map(outcome) == ["cancelled", "cancelled", "cancelled"])
            }
        }

        @Test(
            "C7: what is followed is cancelled where another's canceller settles the source before its own runs"
        )
        func forestalled() {
            let followed = Deferred<Int>()
            let failing = Deferred<Int>(canceller: { $0.reject(Boom(1)) })
            let source = Deferred<Int>(canceller: { _ in })
            source.follow(followed)
            source.follow(failing)
            let bag = CancelBag()
            failing.store(in: bag)
            source.store(in: bag)
            bag.cancelAll()
            #expect([failing, source, followed].map(outcome) == ["Boom(1)", "Boom(1)", "cancelled"])
        }

        @Test(
            "C5, C7: what is followed is cancelled where another thread settles the source while its canceller runs"
        )
        func settledMeanwhile() {
            let followed = Deferred<Int>()
            let resolver = Box<Deferred<Int>.Resolver?>(nil)
            let (source, own) = Deferred<Int>.withResolver(canceller: { _ in
                onThread { resolver.value?.resolve(1) }
            })
            resolver.value = own
            own.follow(followed)
            source.cancel()
            #expect([source, followed].map(outcome) == ["1", "cancelled"])
        }

        @Test("Z1, P1: a pause whose callbacks a cancel has all reached keeps no finalizer")
        func cancelledBehindPause() {
            let ran = Box(0)
            let source = Deferred<Int>()
            let consumer = source.map { $0 }
            source.pause()
            source.finally { _ in ran.change { $0 += 1 } }
            DeferredList([source, consumer]).cancel()
            #expect(outcome(consumer) == "cancelled")
            #expect(ran.value == 1)
            source.unpause()
            #expect(ran.value == 1)
        }

        @Test("wait: refused for a detached link whose errback returned what is notified after this callback")
        func waitForDetached() {
            let source = Deferred<Int>()
            let detached = source.thenResult { [source] result -> Deferred<Int> in
                if case .failure(is CancellationError) = result { return source }
                return .resolved(0)
            }
            let answer = Box("")
            source.done { _ in
                do {
                    _ = try detached.wait(timeout: .nanoseconds(1))
                } catch DeferredError.wouldDeadlock {
                    answer.value = "refused"
                } catch { answer.value = "\(error)" }
            }
            detached.cancel()
            #expect(!detached.isSettled)
            source.resolve(1)
            #expect(answer.value == "refused")
        }

        @Test("Z1: a finalizer behind a pause runs when what waited there waits no longer")
        func finalizerBehindAPause() {
            let (paused, follower, log) = (Deferred<Int>(), Deferred<Int>(), SharedLog<String>())
            paused.pause()
            paused.finally { log(outcome($0)) }
            follower.follow(paused)
            paused.reject(Boom(1))
            #expect(log.all.isEmpty)
            follower.resolve(2)
            #expect(log.all == ["Boom(1)"])
            paused.fail { _ in }
        }

        @Test(
            "C5, L5: what closes a cycle while a cancel is on its way down ends with the cancel",
            arguments: [false, true])
        func cycle(isDetached: Bool) throws {
            let (followed, source) = (Deferred<Int>(), Deferred<Int>())
            let end = followed.recover(Boom.self) { throw $0 }
            let link = source.orElse { _ in isDetached ? end : followed }
            let other = isDetached ? DeferredList([source]).first() : nil
            followed.follow(link)
            end.cancel()
            #expect([end, followed, link].map(outcome) == ["cancelled", "cancelled", "cancelled"])
            other?.cancel()
            other?.fail { _ in }
        }

        @Test("U1, P1: a failure whose consumer was cancelled before a pause took hold is not reported")
        func cancelledBeforeThePause() {
            let reports = Rules.reports {
                let (source, followed) = (Deferred<Int>(), Deferred<Int>())
                followed.follow(source)
                let end = followed.map { $0 }
                source.recover { _ in
                    end.cancel()
                    return 0
                }.done { _ in }
                followed.pause()
                source.reject(Boom(51))
                #expect(outcome(end) == "cancelled")
            }
            #expect(reports.map(words) == [])
        }

        @Test("C5, U1: a cancel whose canceller's result waits behind a pause was answered")
        func answeredBehindAPause() {
            let reports = Rules.reports {
                let own = Box<Deferred<Int>?>(nil)
                let (source, resolver) = Deferred<Int>.withResolver(canceller: { resolver in
                    own.value?.pause()
                    resolver.reject(Boom(41))
                })
                own.value = source
                let followed = Deferred<Int>()
                followed.follow(source)
                followed.cancel()
                #expect(!followed.isSettled)
                followed.reject(Boom(44))
                own.value = nil
                withExtendedLifetime((source, resolver)) {}
            }
            // What the canceller's failure has become is that of cancelled work, and not reported.
            #expect(reports.map { words($0).prefix(8) } == ["Boom(44)"])
        }

        @Test("P1, Z1: a pending Deferred without handles counts as unpaused: a cancel from below passes it")
        func pausedWithoutHandle() {
            let (log, queue) = (SharedLog<String>(), ManualDispatcher())
            let source = Deferred<Int>()
            source.finally { _ in log("finalizer") }
            func attach() -> Deferred<Int> {
                let paused = source.recover { error in
                    log("upstream")
                    throw error
                }
                paused.pause()
                return paused.recover(on: queue) { error in
                    log("link")
                    throw error
                }
            }
            let link = attach()
            link.cancel()
            #expect(log.all == ["upstream"])
            queue.run()
            #expect(log.all == ["upstream", "link", "finalizer"])
            #expect(outcome(link) == "cancelled")
        }

        @Test("P1: one with a handle holds the error back, and the cancel takes effect at once")
        func pausedWithHandle() {
            let log = SharedLog<String>()
            let source = Deferred<Int>()
            let paused = source.recover { error in
                log("upstream")
                throw error
            }
            paused.pause()
            let link = paused.recover { error in
                log("link")
                throw error
            }
            link.cancel()
            #expect(log.all == ["link", "upstream"])
            #expect([link, paused].map(outcome) == ["cancelled", "cancelled"])
            paused.unpause()
        }
    }
}
