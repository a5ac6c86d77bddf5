import Comparing
import Foundation
import Multicast

/// Adding listeners and removing each again, in the order added, at ten times ten times the number: what one
/// costs should stay what it is.
struct ComingAndGoing {
    let rounds: Int

    private final class Listener: Sendable {}
    private struct Message: Sendable {}

    func run() async {
        print("\n## Adding and removing, ns for one listener's both\n")
        titles([
            "listeners", "MulticastDelegate", "Channel", "Channel, rising priorities", "MulticastClosures",
            "NotificationCenter",
        ])
        for count in [1_000, 10_000, 100_000] {
            let times = await measure(count)
            row(
                ["\(count)"] + times.map { figure($0 / Double(count)) }
                    + (count > 10_000 ? ["(not tried)"] : []))
        }
    }

    private func measure(_ count: Int) async -> [Double] {
        let listeners = (0..<count).map { _ in Listener() }
        let delegates = MulticastDelegate<Listener>()
        let channel = Channel<Message>()
        let closures = MulticastClosures<Message, Never>()
        let center = NotificationCenter()
        let name = Notification.Name("told")
        var contenders = [
            Contender(name: "MulticastDelegate") {
                for listener in listeners { delegates.add(listener, on: nil) }
                for listener in listeners { delegates.remove(listener) }
            },
            Contender(name: "Channel") {
                for listener in listeners { channel.listen(listener) { _ in } }
                channel.post(Message())
                for listener in listeners { channel.remove(listener) }
            },
            Contender(name: "Channel, rising priorities") {
                for (index, listener) in listeners.enumerated() {
                    channel.listen(listener, priority: index) { _ in }
                }
                channel.post(Message())
                for listener in listeners { channel.remove(listener) }
            },
            Contender(name: "MulticastClosures") {
                for listener in listeners { closures.add(listener, success: { _ in }, failure: { _ in }) }
                for listener in listeners { closures.remove(listener) }
            },
        ]
        if count <= 10_000 {
            contenders.append(
                Contender(name: "NotificationCenter") {
                    let tokens = listeners.map { _ in
                        center.addObserver(forName: name, object: nil, queue: nil) { _ in }
                    }
                    for token in tokens { center.removeObserver(token) }
                }
            )
        }
        return await Contender.compare(contenders, by: .thread, rounds: max(3, rounds / (count / 1_000)))
    }
}
