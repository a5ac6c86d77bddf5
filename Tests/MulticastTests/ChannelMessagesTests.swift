import Dispatch
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct ChannelMessagesTests {
    private let channel = BroadcastChannel<Int>()

    @Test("Channel messages: everything posted from the call on, in order, also before the first await")
    func inOrder() async {
        channel.post(0)
        let messages = channel.messages()
        for number in 1...100 { channel.post(number) }
        channel.removeAll()
        var received: [Int] = []
        for await message in messages { received.append(message) }
        #expect(received == Array(1...100))
    }

    @Test("Channel messages: a channel is itself a sequence, each iterator with messages of its own")
    func channelIsSequence() async {
        var first = channel.makeAsyncIterator()
        var second = channel.makeAsyncIterator()
        channel.post(1)
        channel.post(2)
        #expect(await first.next() == 1)
        #expect(await second.next() == 1)
        #expect(await first.next() == 2)
        #expect(await second.next() == 2)
    }

    @Test("Channel messages: the buffering policy says what is kept of messages that come too fast")
    func buffering() async {
        let newest = channel.messages(buffering: .bufferingNewest(2))
        let oldest = channel.messages(buffering: .bufferingOldest(2))
        for number in 1...5 { channel.post(number) }
        channel.removeAll()
        #expect(await collect(newest) == [4, 5])
        #expect(await collect(oldest) == [1, 2])
    }

    @Test("Channel messages: dropped, a sequence listens no more")
    func dropped() async {
        do {
            var iterator = channel.messages().makeAsyncIterator()
            channel.post(1)
            #expect(await iterator.next() == 1)
        }
        #expect(channel.post(2) == 0)
        #expect(channel.storage.registry.indexedCount == 0)
    }

    @Test("Channel messages: a cancelled Task's sequence ends and listens no more")
    func cancelled() async {
        let messages = channel.messages()
        let task = Task { await collect(messages) }
        channel.post(1)
        task.cancel()
        let received = await task.value
        #expect(received == [] || received == [1])
        #expect(channel.post(2) == 0)
    }

    @Test(
        "Channel messages: a sequence for an owner is left out of its posts, ends when it is removed or was deallocated"
    )
    func forOwner() async {
        let owner = Owner()
        let messages = channel.messages(for: owner)
        #expect(channel.post(1, from: owner) == 0)
        #expect(channel.post(2) == 1)
        channel.remove(owner)
        #expect(await collect(messages) == [2])
        var orphan: Owner? = Owner()
        let orphaned = channel.messages(for: orphan)
        channel.post(3)
        orphan = nil
        channel.post(4)
        #expect(await collect(orphaned) == [3])
    }

    @Test("Channel messages: a sequence ends when its channel is deallocated, and does not keep it")
    func channelGone() async {
        var channel: BroadcastChannel<Int>? = BroadcastChannel()
        weak var storage: ChannelStorage?
        storage = channel?.storage
        let messages = channel!.messages()
        channel?.post(1)
        channel = nil
        #expect(storage == nil)
        #expect(await collect(messages) == [1])
    }
}

private func collect(_ messages: AsyncStream<Int>) async -> [Int] {
    var received: [Int] = []
    for await message in messages { received.append(message) }
    return received
}
