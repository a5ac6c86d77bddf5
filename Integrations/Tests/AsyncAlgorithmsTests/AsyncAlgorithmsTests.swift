import AsyncAlgorithms
import Deferred
import DeferredTesting
import Multicast
import Testing

/// Queues, channels and lists need no bridge: they are asynchronous sequences, and the other way round a worker is a loop.
@Suite(.timeLimit(.minutes(2))) struct AsyncAlgorithmsTests {
    private struct Failed: Error {}

    @Test("AsyncAlgorithms: merge of two queues has the elements of both, and ends with the second")
    func merging() async throws {
        let (one, two) = (DeferredQueue<Int>(), DeferredQueue<Int>())
        for number in 0..<10 { try (number.isMultiple(of: 2) ? one : two).put(number) }
        one.finish()
        two.finish()
        var found: [Int] = []
        for try await number in merge(one, two) { found.append(number) }
        #expect(found.sorted() == Array(0..<10))
        #expect(found.filter { $0.isMultiple(of: 2) } == [0, 2, 4, 6, 8])
    }

    @Test("AsyncAlgorithms: debounce passes on the last element of a burst")
    func debouncing() async throws {
        let queue = DeferredQueue<String>()
        for text in ["s", "sw", "swift"] { try queue.put(text) }
        queue.finish()
        var found: [String] = []
        for try await text in queue.debounce(for: .milliseconds(1)) { found.append(text) }
        #expect(found.last == "swift")
    }

    @Test("AsyncAlgorithms: chunked, zipped and combined")
    func combining() async throws {
        let numbers = DeferredQueue<Int>()
        for number in 1...5 { try numbers.put(number) }
        numbers.finish()
        var chunks: [[Int]] = []
        for try await chunk in numbers.chunks(ofCount: 2) { chunks.append(chunk) }
        #expect(chunks == [[1, 2], [3, 4], [5]])

        let (names, ages) = (DeferredQueue<String>(), DeferredQueue<Int>())
        try names.put("ann")
        try names.put("bob")
        try ages.put(30)
        names.finish()
        ages.finish()
        var pairs: [String] = []
        for try await (name, age) in zip(names, ages) { pairs.append("\(name) \(age)") }
        #expect(pairs == ["ann 30"])
    }

    @Test("AsyncAlgorithms: a channel of Multicast is merged with a queue; each listener sees each message")
    func channel() async throws {
        let channel = BroadcastChannel<Int>()
        let (first, second) = (channel.messages(), channel.messages())
        channel.post(1)
        channel.post(2)
        channel.finish()
        let queue = DeferredQueue<Int>()
        try queue.put(3)
        queue.finish()
        var found: [Int] = []
        for try await number in merge(first, queue) { found.append(number) }
        #expect(found.sorted() == [1, 2, 3])
        #expect(await Array(second) == [1, 2])
    }

    @Test("AsyncAlgorithms: the results of a list, in the order of completion")
    func list() async throws {
        let (one, two) = (Deferred<Int>(), Deferred<Int>())
        let list = DeferredList([one, two])
        let results = list.completed
        two.resolve(2)
        one.resolve(1)
        var found: [String] = []
        for await (number, completed) in zip([10, 20].async, results) {
            found.append("\(number) \(completed.index)")
        }
        #expect(found == ["10 1", "20 0"])
    }

    @Test("AsyncAlgorithms: a failure of the source of a queue ends the loop over a merge with that failure")
    func failing() async throws {
        let stream = AsyncThrowingChannel<Int, any Error>()
        let queue = DeferredQueue<Int>()
        stream.fail(Failed())
        await #expect(throws: Failed.self) { for try await _ in merge(stream, queue) {} }
        try queue.put(1)
        #expect(try successResult(of: queue.get()) == 1, "a merge that has ended takes nothing more")
    }

    @Test(
        "AsyncAlgorithms: a channel's elements go into a queue as fast as there is room, and a cancel ends that"
    )
    func filling() async throws {
        let channel = AsyncChannel<Int>()
        let queue = DeferredQueue<Int>(size: 0)
        let filling = Deferred<Void> {
            for await number in channel { try await queue.send(number).value }
            queue.finish()
        }
        let sending = Task {
            for number in 1...3 { await channel.send(number) }
            channel.finish()
        }
        #expect(try await Array(queue) == [1, 2, 3])
        try await filling.value
        await sending.value

        let endless = Deferred<Void> { for await _ in AsyncChannel<Int>() {} }
        endless.cancel()
        #expect(try failureResult(of: endless) is CancellationError)
    }
}
