import Comparing
import Foundation
import Multicast
import Synchronization

/// Times the notification of 1, 10 and 1,000 listeners that are called at once, and compares it with
/// NotificationCenter and an array of closures.
struct Notifying {
    let rounds: Int

    private protocol Hearing: AnyObject, Sendable {
        func hear()
    }

    private final class Hearer: Hearing {
        let heard = Atomic(0)

        func hear() {
            heard.add(1, ordering: .relaxed)
        }
    }

    private struct Message: Sendable {}

    func run() async {
        print("\n## Notifying listeners that are called at once, ns per listener\n")
        titles([
            "listeners", "MulticastDelegate.notify", "BroadcastChannel.post", "MulticastClosures.elements",
            "NotificationCenter.post",
            "array of closures",
        ])
        for count in [1, 10, 1_000] {
            let times = await measure(count)
            row(["\(count)"] + times.map(figure))
        }
    }

    private func measure(_ count: Int) async -> [Double] {
        let hearers = (0..<count).map { _ in Hearer() }
        let delegates = MulticastDelegate<any Hearing>()
        let channel = BroadcastChannel<Message>()
        let closures = MulticastClosures<Message, Never>()
        let center = NotificationCenter()
        let name = Notification.Name("message")
        var array: [@Sendable () -> Void] = []
        var tokens: [any NSObjectProtocol] = []
        for hearer in hearers {
            delegates.add(hearer, on: nil)
            channel.listen(hearer) { hearer, _ in hearer.hear() }
            closures.add(hearer, success: { hearer, _ in hearer.hear() }, failure: { _, _ in })
            tokens.append(center.addObserver(forName: name, object: nil, queue: nil) { _ in hearer.hear() })
            array.append { [weak hearer] in hearer?.hear() }
        }
        let posts = max(1, 20_000 / count)
        let heldArray = array
        let times = await TimedJob.compare(
            [
                TimedJob(name: "notify") { for _ in 0..<posts { delegates.notify { $0.hear() } } },
                TimedJob(name: "post") { for _ in 0..<posts { channel.post(Message()) } },
                TimedJob(name: "elements") {
                    for _ in 0..<posts { for pair in closures.elements { pair.succeed(Message()) } }
                },
                TimedJob(name: "NotificationCenter") {
                    for _ in 0..<posts { center.post(name: name, object: nil) }
                },
                TimedJob(name: "array") { for _ in 0..<posts { for closure in heldArray { closure() } } },
            ],
            by: .thread,
            rounds: rounds
        )
        for token in tokens { center.removeObserver(token) }
        return times.map { $0 / Double(posts * count) }
    }
}
