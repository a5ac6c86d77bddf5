import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct RetainedMessageTests {
    private let channel = BroadcastChannel<Int>()
    private let log = SharedLog<String>()
    private let owner = Owner()

    private func listen(_ owner: AnyObject, _ name: String, on dispatcher: (any Dispatcher)? = nil) {
        channel.listen(owner, on: dispatcher) { [log] in log.add("\(name) \($0)") }
    }

    @Test("Retained message: a later listener receives the last one first, before listen returns")
    func lateListener() {
        channel.post(1)
        #expect(channel.retainedMessage == nil)
        channel.post(2, retained: true)
        channel.post(3, retained: true)
        channel.post(4)
        #expect(channel.retainedMessage == 3)
        listen(owner, "late")
        channel.post(5)
        #expect(log.all == ["late 3", "late 5"])
        channel.removeRetainedMessage()
        #expect(channel.retainedMessage == nil)
        listen(owner, "later")
        #expect(log.all.count == 2)
    }

    @Test(
        "Retained message: on a dispatcher it comes there, before what is posted later, and not after removal"
    )
    func onDispatcher() {
        let queue = ManualDispatcher()
        channel.post(1, retained: true)
        listen(owner, "a", on: queue)
        channel.post(2)
        #expect(log.all == [])
        queue.run()
        #expect(log.all == ["a 1", "a 2"])
        let removed = Owner()
        listen(removed, "b", on: queue)
        channel.remove(removed)
        queue.run()
        #expect(log.all == ["a 1", "a 2"])
    }

    @Test("Retained message: it does not come after one that was posted later")
    func notAfterLater() {
        /// Runs the work submitted last first.
        final class Reversing: Dispatcher {
            let held = SharedLog<@Sendable () -> Void>()
            func dispatch(_ work: @escaping @Sendable () -> Void) { held.add(work) }
            func run() { for work in held.all.reversed() { work() } }
        }
        let queue = Reversing()
        channel.post(1, retained: true)
        listen(owner, "a", on: queue)
        channel.post(2, retained: true)
        queue.run()
        #expect(log.all == ["a 2"])
    }

    @Test("Retained message: what its listener posts comes after it, and not after its removal")
    func postedInside() {
        channel.post(1, retained: true)
        channel.listen(owner) { [channel, log] number in
            log.add("\(number) begins")
            if number < 3 { channel.post(number + 1) }
            if number == 2 { channel.remove(owner) }
            log.add("\(number) ends")
        }
        #expect(log.all == ["1 begins", "1 ends", "2 begins", "2 ends"])
    }

    @Test("Retained message: a named channel stays with it, though nobody listens, until it is removed")
    func directory() {
        let directory = ChannelDirectory()
        BroadcastChannel<Int>("status", in: directory).post(7, retained: true)
        for number in 0..<200 { BroadcastChannel<Int>("room \(number)", in: directory).post(1) }
        #expect(directory.listing.map(\.name) == ["status"])
        BroadcastChannel<Int>("status", in: directory).listen(owner) { [log] in log.add("\($0)") }
        #expect(log.all == ["7"])
        BroadcastChannel<Int>("status", in: directory).remove(owner)
        BroadcastChannel<Int>("status", in: directory).removeRetainedMessage()
        #expect(directory.listing.isEmpty)
    }

    @Test("Retained message: one that is replaced or removed is released outside the lock")
    func released() {
        final class Releasing: Sendable {
            let channel: BroadcastChannel<Releasing>
            let log: SharedLog<String>
            init(_ channel: BroadcastChannel<Releasing>, _ log: SharedLog<String>) {
                self.channel = channel
                self.log = log
            }
            deinit { log.add("released, \(channel.listing.listeners.count) listeners") }
        }
        let channel = BroadcastChannel<Releasing>()
        channel.post(Releasing(channel, log), retained: true)
        channel.post(Releasing(channel, log), retained: true)
        #expect(log.all.count == 1)
        channel.removeRetainedMessage()
        #expect(log.all.count == 2)
        channel.post(Releasing(channel, log), retained: true)
        channel.finish()
        #expect(log.all.count == 3)
        channel.post(Releasing(channel, log), retained: true)
        #expect(log.all.count == 4)
    }
}
