import Deferred
import DeferredTesting
import Multicast

/// Removes itself where its channel is, when it is released.
private final class Owner: Sendable {
    private let onRelease: @Sendable (Owner) -> Void
    init(_ onRelease: @escaping @Sendable (Owner) -> Void) { self.onRelease = onRelease }
    deinit { onRelease(self) }
}

private final class Listener: Sendable {}

/// Listeners of one channel.
let multicast: [Shape] =
    inEachOrder("listeners of a channel, removed") { n, order, meter in
        let channel = BroadcastChannel<Int>()
        let owners = (0..<n).map { _ in Listener() }
        meter("attached") { for owner in owners { channel.listen(owner) { _ in } } }
        meter("posted") { _ = channel.post(1) }
        meter("removed") { for index in order { channel.remove(owners[index]) } }
    }
    + inEachOrder("listeners of a channel, removed by token, a post after each") { n, order, meter in
        let channel = BroadcastChannel<Int>()
        let owner = Listener()
        let tokens = (0..<n).map { _ in channel.listen(owner) { _ in } }
        meter("removed") { for index in order { tokens[index].remove() } }
        precondition(channel.post(1) == 0)
    }
    + inEachOrder("owners that remove themselves, of a finished channel") { n, order, meter in
        let channel = BroadcastChannel<Int>()
        let later = ManualDispatcher()
        var owners: [Owner?] = (0..<n).map { _ in Owner { channel.remove($0) } }
        for owner in owners { channel.listen(owner!, on: later) { _ in } }
        _ = channel.post(1)
        meter("finished") { channel.finish() }
        meter("released") { for index in order { owners[index] = nil } }
        meter("delivered") { _ = later.run() }
    }
    + inEachOrder("owners that remove themselves, of a finished channel whose deliveries have been made") {
        n, order, meter in
        let channel = BroadcastChannel<Int>()
        let later = ManualDispatcher()
        var owners: [Owner?] = (0..<n).map { _ in Owner { channel.remove($0) } }
        for owner in owners { channel.listen(owner!, on: later) { _ in } }
        _ = channel.post(1)
        channel.finish()
        _ = later.run()
        meter("released") { for index in order { owners[index] = nil } }
    }
    + inEachOrder("owners that are released, found by the next post") { n, order, meter in
        let channel = BroadcastChannel<Int>()
        var owners: [Listener?] = (0..<n).map { _ in Listener() }
        for owner in owners { channel.listen(owner!) { _ in } }
        meter("released") { for index in order { owners[index] = nil } }
        meter("posted") { _ = channel.post(1) }
    }
    + inEachOrder("pairs of closures, removed") { n, order, meter in
        let closures = MulticastClosures<Int, Failed>()
        let owners = (0..<n).map { _ in Listener() }
        meter("attached") {
            for owner in owners { closures.add(owner, success: { _ in }, failure: { _ in }) }
        }
        meter("removed") { for index in order { closures.remove(owners[index]) } }
    }
    + inEachOrder("pairs of closures, taken and then removed") { n, order, meter in
        let closures = MulticastClosures<Int, Failed>()
        let owners = (0..<n).map { _ in Listener() }
        for owner in owners { closures.add(owner, success: { _ in }, failure: { _ in }) }
        let taken = meter("taken") { closures.take() }
        meter("removed") { for index in order { closures.remove(owners[index]) } }
        withExtendedLifetime(taken) {}
    }
    + [
        Shape("one owner's listeners on n dispatchers, removed") { n, meter in
            let channel = BroadcastChannel<Int>()
            let owner = Listener()
            for _ in 0..<n { channel.listen(owner) { _ in } }
            meter("removed") { channel.remove(owner) }
        },
        Shape("listeners of n priorities, posted") { n, meter in
            let channel = BroadcastChannel<Int>()
            let owner = Listener()
            meter("attached") { for number in 0..<n { channel.listen(owner, priority: number) { _ in } } }
            meter("posted") { _ = channel.post(1) }
        },
        Shape("listeners that leave one another behind, all removed") { n, meter in
            let channel = BroadcastChannel<Int>()
            let owner = Listener()
            for _ in 0..<n { channel.listen(owner) { _ in } }
            meter("removed") { channel.removeAll() }
        },
        Shape("posts to n listeners on dispatchers, delivered") { n, meter in
            let channel = BroadcastChannel<Int>()
            let later = ManualDispatcher()
            let owner = Listener()
            for _ in 0..<n { channel.listen(owner, on: later) { _ in } }
            meter("posted") { _ = channel.post(1) }
            meter("delivered") { _ = later.run() }
        },
        Shape("listeners added in turn and left to their owners' release") { n, meter in
            let channel = BroadcastChannel<Int>()
            meter("attached") { for _ in 0..<n { channel.listen(Listener()) { _ in } } }
            meter("posted") { _ = channel.post(1) }
        },
        Shape("channels of a directory") { n, meter in
            let directory = ChannelDirectory()
            let channels = meter("made") { (0..<n).map { BroadcastChannel<Int>("\($0)", in: directory) } }
            meter("finished") { for channel in channels { channel.finish() } }
        },
        Shape("channels of a directory, used and left") { n, meter in
            let directory = ChannelDirectory()
            meter("made") {
                for number in 0..<n { _ = BroadcastChannel<Int>("\(number)", in: directory).post(1) }
            }
        },
        Shape("closures called in turn") { n, meter in
            let closures = MulticastClosures<Int, Failed>()
            let owner = Listener()
            for _ in 0..<n { closures.add(owner, success: { _ in }, failure: { _ in }) }
            meter("completed") { closures.complete(with: .success(1)) }
        },
    ]

/// Delegates, and what they are asked.
let delegates: [Shape] =
    inEachOrder("delegates, removed") { n, order, meter in
        let delegate = MulticastDelegate<Listener>()
        let all = (0..<n).map { _ in Listener() }
        meter("attached") { for each in all { delegate.add(each, on: nil) } }
        meter("notified") { delegate.notify { _ in } }
        meter("removed") { for index in order { delegate.remove(all[index]) } }
    }
    + [
        Shape("delegates, asked one after another") { n, meter in
            let all = (0..<n).map { _ in Listener() }
            let delegate = MulticastDelegate<Listener>()
            for each in all { delegate.add(each, on: nil) }
            meter("asked") { _ = delegate.all { _ in true } }
            withExtendedLifetime(all) {}
        },
        Shape("delegates, asked at once") { n, meter in
            let all = (0..<n).map { _ in Listener() }
            let delegate = MulticastDelegate<Listener>()
            for each in all { delegate.add(each, on: nil) }
            meter("asked") { _ = delegate.collect { _ in 1 } }
            withExtendedLifetime(all) {}
        },
        Shape("delegates that answer later, one after another") { n, meter in
            let clock = ManualClock()
            let all = (0..<n).map { _ in Listener() }
            let delegate = MulticastDelegate<Listener>()
            for each in all { delegate.add(each, on: nil) }
            let answer = delegate.all { _ in Deferred.after(.seconds(1), timer: clock, value: true) }
            let users = (0..<n).map { _ in answer.map { $0 } }
            meter("answered") { _ = clock.advanceUntilIdle(atMost: .seconds(2 * n)) }
            withExtendedLifetime(all) {}
            precondition(users.allSatisfy(\.isSettled))
        },
        Shape("delegates that answer later, cancelled") { n, meter in
            let all = (0..<n).map { _ in Listener() }
            let delegate = MulticastDelegate<Listener>()
            for each in all { delegate.add(each, on: nil) }
            let answers = delegate.collectDeferred { _ in Deferred<Int>.never() }
            meter("cancelled") { answers.cancel() }
            withExtendedLifetime(all) {}
            answers.quiet()
        },
        Shape("delegates on a dispatcher, asked one after another") { n, meter in
            let later = ManualDispatcher()
            let all = (0..<n).map { _ in Listener() }
            let delegate = MulticastDelegate<Listener>()
            for each in all { delegate.add(each, on: later) }
            let answer = delegate.all { _ in true }
            meter("answered") { _ = later.run() }
            withExtendedLifetime(all) {}
            precondition(answer.isSettled)
        },
        Shape("delegates, reduced") { n, meter in
            let all = (0..<n).map { _ in Listener() }
            let delegate = MulticastDelegate<Listener>()
            for each in all { delegate.add(each, on: nil) }
            meter("asked") { _ = delegate.reduce(into: 0) { sum, _ in sum += 1 } }
            withExtendedLifetime(all) {}
        },
    ]
