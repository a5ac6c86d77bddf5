import Deferred
import DeferredTesting
import Foundation
import Multicast
import TestSupport
import Testing

/// What an article says, and no test of a rule shows.
@Suite(.watchdog) struct ArticlesTests {
    private let clock = ManualClock()
    private let eventLog = SharedLog<String>()

    @Test("Cancelling: a time limit behind a busy dispatcher waits for it, unless that is shielded")
    func busyDispatcher() throws {
        let (page, queue, clock) = (Deferred.resolved("text"), ManualDispatcher(), ManualClock())
        let waiting = page.map(on: queue) { $0.count }.timeout(.seconds(5), timer: clock)
        let length = page.map(on: queue) { $0.count }.shielded().timeout(.seconds(5), timer: clock)
        clock.advance(by: .seconds(5))
        #expect(try failureResult(of: length) as? DeferredError == .timedOut)
        try expectNoResult(waiting)
        queue.run()
        #expect(try failureResult(of: waiting) as? DeferredError == .timedOut)
    }

    @Test("Cancelling: what stands above a timeout may make another outcome of it")
    func errbackAboveTimeout() throws {
        let (clock, pages) = (ManualClock(), SynchronizedValue<[Deferred<String>]>([]))
        func fetchPage() -> Deferred<String> {
            let page = Deferred<String>()
            pages.write { $0.append(page) }
            return page
        }
        let page = fetchPage()
            .recover { _ in "no page" }  // also handles the cancellation
            .timeout(.seconds(5), timer: clock)  // so the outcome is "no page", not .timedOut
        let cleared = fetchPage().always { _ in throw Refused() }.timeout(.seconds(5), timer: clock)
        let below = fetchPage().timeout(.seconds(5), timer: clock).recover { "\($0)" }
        let strict = fetchPage()
            .recover { _ in "no page" }
            .timeout(.seconds(5), timer: clock) { _ in throw DeferredError.timedOut }
        clock.advance(by: .seconds(5))
        #expect(try successResult(of: page) == "no page")
        #expect(try failureResult(of: cleared) is Refused)
        #expect(try successResult(of: below) == "\(DeferredError.timedOut)")
        #expect(try failureResult(of: strict) as? DeferredError == .timedOut)
    }

    @Test("Lists: the next input of a limited list starts after the callbacks of the one before")
    func nextAfterCallbacks() {
        let (eventLog, first) = (eventLog, Deferred<Int>())
        let list = DeferredList(0..<2, limit: 1) { number in
            eventLog.add("starts \(number)")
            let work = number == 0 ? first : .never()
            work.done { _ in eventLog.add("done \(number)") }
            return work
        }
        let results = list.results()
        first.resolve(0)
        #expect(eventLog.all == ["starts 0", "done 0", "starts 1"])
        results.cancel()
    }

    @Test("M7: without a dispatcher, a listener is called at once, on the thread that notifies or posts")
    func atOnce() {
        final class Here: Sendable {
            let thread = SharedLog<ObjectIdentifier>()
            func received() { thread.add(ObjectIdentifier(Thread.current)) }
        }
        let (here, delegates, channel) = (Here(), MulticastDelegate<Here>(), BroadcastChannel<String>())
        delegates.add(here, on: nil)
        channel.listen(here) { here, _ in here.received() }
        delegates.notify { $0.received() }
        #expect(here.thread.all == [ObjectIdentifier(Thread.current)])
        channel.post("hello")
        #expect(here.thread.all.count == 2 && here.thread.all.last == ObjectIdentifier(Thread.current))
    }

    @Test("Threads: a step with a dispatcher waits for it, also where its closure is bypassed")
    func bypassed() throws {
        let (page, queue) = (Deferred.resolved("a page"), ManualDispatcher())
        let text = page.recover(on: queue) { _ in "no page" }  // waits for the queue, also with a page
        try expectNoResult(text)
        queue.run()
        #expect(try successResult(of: text) == "a page")
        #expect(try successResult(of: page.recover { _ in "no page" }) == "a page")
    }

    @Test("Threads: a permit released inside a holder's callback admits the next waiter after that callback")
    func permits() throws {
        let semaphore = DeferredSemaphore(1)
        let eventLog = eventLog
        let permit = try #require(semaphore.tryAcquire())
        semaphore.acquire().done { permit in
            eventLog.add("second begins")
            permit.release()
            eventLog.add("second ends")
        }
        semaphore.acquire().done { _ in eventLog.add("third") }
        permit.release()
        eventLog.add("released")
        #expect(eventLog.all == ["second begins", "second ends", "third", "released"])
    }

    @Test("Time limits: the delays of a retry that names none")
    func defaultDelays() throws {
        let clock = clock
        let page = Deferred<String>.retry(attempts: 3, timer: clock) { throw Refused() }
        clock.advance(by: .milliseconds(499))
        #expect(clock.scheduled.count == 1)
        #expect(clock.advanceUntilIdle())
        #expect((.milliseconds(1500) ... .seconds(3)).contains(clock.now.offset))
        #expect(try failureResult(of: page) is Refused)
    }
}
