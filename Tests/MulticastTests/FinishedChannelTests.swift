import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct FinishedChannelTests {
    private let log = SharedLog<String>()
    private let owner = Owner()

    @Test("Channel finish: sequences end at once, after what they have buffered; later ones are empty")
    func sequences() async {
        let channel = BroadcastChannel<Int>()
        var messages = channel.messages().makeAsyncIterator()
        channel.post(1, retained: true)
        channel.finish()
        #expect(channel.isFinished)
        #expect(await messages.next() == 1)
        #expect(await messages.next() == nil)
        var later = channel.makeAsyncIterator()
        #expect(await later.next() == nil)
        #expect(channel.retainedMessage == nil)
    }

    @Test("Channel finish: listeners get what was posted before, and nothing later; others are not added")
    func listeners() {
        let channel = BroadcastChannel<Int>()
        let queue = ManualDispatcher()
        channel.listen(owner, on: queue) { [log] in log.add("\($0)") }
        channel.post(1)
        channel.finish()
        channel.finish()
        #expect(channel.post(2) == 0)
        let token = channel.listen(owner) { [log] in log.add("\($0)") }
        #expect(!token.isListening)
        #expect(channel.post(3, retained: true) == 0)
        queue.run()
        #expect(log.all == ["1"])
    }

    @Test(
        "M2: after finish, what was queued is not delivered to a listener that is removed by any means",
        arguments: ["owner", "owner on its queue", "token", "all", "not"])
    func removedAfterFinish(means: String) {
        let channel = BroadcastChannel<Int>()
        let queue = ManualDispatcher()
        let token = channel.listen(owner, on: queue) { [log] in log.add("\($0)") }
        channel.post(1)
        channel.finish()
        switch means {
        case "owner": channel.remove(owner)
        case "owner on its queue": channel.remove(owner, on: queue)
        case "token": token.remove()
        case "all": channel.removeAll()
        default: channel.remove(owner, on: ManualDispatcher())
        }
        queue.run()
        #expect(log.all == (means == "not" ? ["1"] : []))
    }

    @Test("Q-h: finish releases the listeners' closures and dispatchers, though a handle and the owners live")
    func releasesClosures() {
        let channel = BroadcastChannel<Int>()
        weak var dispatcher: ManualDispatcher?
        do {
            let held = ManualDispatcher()
            let witnesses = (0..<3).map { _ in ReleaseProbe(log) }
            channel.listen(owner) { _ in _ = witnesses[0] }
            channel.listen(owner, on: held) { owner, _ in _ = (owner, witnesses[1]) }
            channel.listen(Owner(), priority: 1) { _ in _ = witnesses[2] }
            dispatcher = held
        }
        channel.finish()
        #expect(log.all == ["released", "released", "released"])
        #expect(dispatcher == nil)
        #expect(channel.isFinished && channel.post(1) == 0)
    }

    @Test("ListenerToken: isListening is false after finish, also while a post has the listener")
    func tokenAfterFinish() {
        let channel = BroadcastChannel<Int>()
        let owners = (Owner(), Owner())
        let tokens = SharedLog<ListenerToken>()
        channel.listen(owners.0, priority: 1) { [log, channel] _ in
            channel.finish()
            log.add("\(tokens.all[0].isListening)")
        }
        tokens.add(channel.listen(owners.1) { [log] in log.add("\($0)") })
        channel.post(1)
        #expect(log.all == ["false", "1"])
        withExtendedLifetime(owners) {}
    }

    @Test("Channel finish: the name is free for a new channel, which the old handle can't end")
    func name() {
        let directory = ChannelDirectory()
        let old = BroadcastChannel<Int>("x", in: directory)
        old.finish()
        let new = BroadcastChannel<Int>("x", in: directory)
        old.finish()
        #expect(old.isFinished && !new.isFinished)
        new.listen(owner) { [log] in log.add("\($0)") }
        BroadcastChannel<Int>("x", in: directory).post(1)
        #expect(log.all == ["1"])
        #expect(directory.count == 1)
    }

    // It blocks its thread until a Task of Swift's threads has ended.
    @Test(
        "Channel: a removal ends sequences at once, though the post that removes has not returned",
        .ownThreads)
    func removedDuringPost() async {
        let channel = BroadcastChannel<Int>()
        let messages = channel.messages(priority: -1)
        let ended = SharedLog<[Int]>()
        channel.listen(owner) { [channel] _ in
            channel.removeAll()
            let done = DispatchSemaphore(value: 0)
            Task {
                var received: [Int] = []
                for await message in messages { received.append(message) }
                ended.add(received)
                done.signal()
            }
            expectSignal(done)
        }
        channel.post(1)
        #expect(ended.all == [[]])
    }
}
