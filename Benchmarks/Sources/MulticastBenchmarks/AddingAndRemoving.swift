import Comparing
import Foundation
import Multicast

/// Times adding listeners and removing them in the order added, at three sizes that grow tenfold. The cost of
/// one listener should stay constant.
struct AddingAndRemoving {
    let rounds: Int

    private final class Listener: Sendable {}
    private struct Message: Sendable {}

    func run() async {
        print("\n## Adding and removing, ns per listener for both\n")
        titles([
            "listeners", "MulticastDelegate", "BroadcastChannel", "BroadcastChannel, rising priorities",
            "MulticastClosures",
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
        let channel = BroadcastChannel<Message>()
        let closures = MulticastClosures<Message, Never>()
        let center = NotificationCenter()
        let name = Notification.Name("message")
        var jobs = [
            TimedJob(name: "MulticastDelegate") {
                for listener in listeners { delegates.add(listener, on: nil) }
                for listener in listeners { delegates.remove(listener) }
            },
            TimedJob(name: "BroadcastChannel") {
                for listener in listeners { channel.listen(listener) { _ in } }
                channel.post(Message())
                for listener in listeners { channel.remove(listener) }
            },
            TimedJob(name: "BroadcastChannel, rising priorities") {
                for (index, listener) in listeners.enumerated() {
                    channel.listen(listener, priority: index) { _ in }
                }
                channel.post(Message())
                for listener in listeners { channel.remove(listener) }
            },
            TimedJob(name: "MulticastClosures") {
                for listener in listeners { closures.add(listener, success: { _ in }, failure: { _ in }) }
                for listener in listeners { closures.remove(listener) }
            },
        ]
        if count <= 10_000 {
            jobs.append(
                TimedJob(name: "NotificationCenter") {
                    let tokens = listeners.map { _ in
                        center.addObserver(forName: name, object: nil, queue: nil) { _ in }
                    }
                    for token in tokens { center.removeObserver(token) }
                }
            )
        }
        return await TimedJob.compare(jobs, by: .thread, rounds: max(3, rounds / (count / 1_000)))
    }
}
