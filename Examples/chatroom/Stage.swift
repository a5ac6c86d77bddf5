import Dispatch

/// Where everything shows: a line each, with the queue that it happened on.
enum Stage {
    private static let output = DispatchQueue(label: "stage")

    static func title(_ text: String) {
        output.sync { print("\n\(text)") }
    }

    static func say(_ who: String, _ what: String) {
        let place = "[\(queueName)]".padded(to: 12)
        output.sync { print("  \(place)\(who) \(what)") }
    }

    /// A serial queue whose name shows.
    static func queue(_ name: String) -> DispatchQueue {
        let queue = DispatchQueue(label: name)
        queue.setSpecific(key: nameKey, value: name)
        return queue
    }

    static func nameMainQueue() {
        DispatchQueue.main.setSpecific(key: nameKey, value: "main")
    }

    private static let nameKey = DispatchSpecificKey<String>()

    private static var queueName: String {
        DispatchQueue.getSpecific(key: nameKey) ?? "elsewhere"
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
