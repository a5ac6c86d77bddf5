import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct ChannelTests {
    private let directory = ChannelDirectory()
    private let log = SharedLog<String>()
    private let owner = Owner()

    private func listen(
        _ owner: AnyObject,
        _ name: String,
        to channel: BroadcastChannel<Int>,
        priority: Int = 0,
        on dispatcher: (any Dispatcher)? = nil
    ) {
        channel.listen(owner, priority: priority, on: dispatcher) { [log] in log.add("\(name) \($0)") }
    }

    @Test("Channel: one name with two types is two channels, and the directory lists both")
    func twoTypes() {
        let numbers = BroadcastChannel<Int>("x", in: directory)
        let texts = BroadcastChannel<String>("x", in: directory)
        listen(owner, "a", to: numbers)
        #expect(texts.post("1") == 0)
        #expect(log.all == [])
        #expect(
            directory.listing.map(\.description) == [
                "\"x\" of Int, 1 listener: Owner (priority 0, at once)",
                "\"x\" of String, no listeners",
            ]
        )
        withExtendedLifetime(texts) {}
    }

    @Test("Channel: another name, another directory, or none, is another channel")
    func others() {
        listen(owner, "a", to: BroadcastChannel("x", in: directory))
        #expect(BroadcastChannel<Int>("y", in: directory).post(1) == 0)
        #expect(BroadcastChannel<Int>("x", in: ChannelDirectory()).post(1) == 0)
        #expect(BroadcastChannel<Int>("x").post(1) == 0)
        #expect(BroadcastChannel<Int>().post(1) == 0)
        #expect(BroadcastChannel<Int>().name == nil)
    }

    @Test(
        "Channel: higher priority first, those of one priority in the order added, on a dispatcher as at once"
    )
    func priorities() {
        let queue = ManualDispatcher()
        let channel = BroadcastChannel<Int>()
        for (name, priority) in [("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 0)] {
            listen(owner, name, to: channel, priority: priority)
            listen(owner, name, to: channel, priority: priority, on: queue)
        }
        let listing = channel.listing.description
        #expect(listing.hasPrefix("unnamed of Int, 10 listeners: Owner (priority 5, at once), Owner ("))
        channel.post(1)
        let order = ["b 1", "d 1", "a 1", "e 1", "c 1"]
        #expect(log.all == order)
        queue.run()
        #expect(log.all == order + order)
        listen(owner, "f", to: channel, priority: 1)
        channel.remove(owner, on: queue)
        channel.post(2)
        #expect(log.all.suffix(6) == ["b 2", "d 2", "f 2", "a 2", "e 2", "c 2"])
    }

    @Test("Channel: a poster that names itself is left out")
    func posterLeftOut() {
        let owners = [Owner(), Owner()]
        let channel = BroadcastChannel<Int>()
        let queue = ManualDispatcher()
        for (owner, name) in zip(owners, ["a", "b"]) {
            listen(owner, name, to: channel)
            listen(owner, name, to: channel, on: queue)
        }
        #expect(channel.post(1, from: owners[0]) == 2)
        queue.run()
        #expect(log.all == ["b 1", "b 1"])
        #expect(channel.post(2) == 4)
        #expect(channel.post(3, from: Owner()) == 4)
        withExtendedLifetime(owners) {}
    }

    @Test("M6: a listener may post, listen and remove; nothing is called under a lock")
    func noLock() {
        let channel = BroadcastChannel<Int>("busy", in: directory)
        let other = Owner()
        channel.listen(owner) { [log, directory] number in
            log.add("got \(number)")
            guard number == 1 else { return }
            let done = DispatchSemaphore(value: 0)
            DispatchQueue(label: "another thread").async {
                let same = BroadcastChannel<Int>("busy", in: directory)
                same.listen(other) { log.add("other \($0)") }
                _ = directory.listing
                same.post(2)
                same.removeAll()
                done.signal()
            }
            expectSignal(done)
        }
        channel.post(1)
        #expect(log.all == ["got 1", "got 2", "other 2"])
        #expect(channel.post(3) == 0)
        withExtendedLifetime(other) {}
    }

    @Test("ChannelDirectory: channels without handles and listeners are released, others stay")
    func directoryIsSwept() {
        listen(owner, "a", to: BroadcastChannel("kept", in: directory))
        let handle = BroadcastChannel<Int>("held", in: directory)
        for number in 0..<1_000 {
            listen(Owner(), "gone", to: BroadcastChannel("room \(number)", in: directory))
        }
        #expect(directory.count < 200, "swept as it grew")
        #expect(directory.listing.map(\.name) == ["held", "kept"])
        #expect(directory.count == 2)
        BroadcastChannel<Int>("kept", in: directory).post(1)
        #expect(log.all == ["a 1"])
        withExtendedLifetime(handle) {}
    }

    @Test("M5: a message to a new name leaves the listeners of other channels alone")
    func newNames() {
        let channel = BroadcastChannel<Int>("busy", in: directory)
        for _ in 0..<30 { channel.listen(Owner()) { _ in } }
        channel.listen(owner) { _ in }
        for number in 0..<1_000 { BroadcastChannel<Int>("room \(number)", in: directory).post(number) }
        #expect(channel.storage.registry.occupiedCount == 31, "not swept")
        #expect(directory.count < 200)
    }

    @Test("ChannelDirectory: its last channels may be finished while one is being created")
    func finishedWhileSwept() {
        /// Finishes every channel of the directory when its listener's closure is released.
        final class Finishing: Sendable {
            let directory: ChannelDirectory
            init(_ directory: ChannelDirectory) { self.directory = directory }
            deinit {
                for name in ["first", "second", "new"] { BroadcastChannel<Int>(name, in: directory).finish() }
            }
        }
        let first = BroadcastChannel<Int>("first", in: directory)
        let second = BroadcastChannel<Int>("second", in: directory)
        do {
            let finishing = Finishing(directory)
            second.listen(Owner()) { _ in withExtendedLifetime(finishing) {} }
        }
        for number in 0..<61 { _ = BroadcastChannel<Int>("room \(number)", in: directory) }
        // With 64 channels it searches for unused ones, and finds that the listener's owner was deallocated.
        let new = BroadcastChannel<Int>("new", in: directory)
        #expect(first.isFinished && second.isFinished && new.isFinished)
        #expect(directory.count == 0)
    }

    @Test("ChannelDirectory: threads that look up one name get one channel")
    func lookedUpFromThreads() {
        for round in 0..<20 {
            onThreads(4) { [directory, log] _ in
                BroadcastChannel<Int>("x \(round)", in: directory).listen(owner) { log.add("\($0)") }
            }
            #expect(BroadcastChannel<Int>("x \(round)", in: directory).post(round) == 4)
        }
    }
}
