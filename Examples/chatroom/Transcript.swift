import Dispatch

/// Prints what happens: a line each, with the queue that it happens on.
enum Transcript {
    private static let output = DispatchQueue(label: "transcript")

    static func title(_ text: String) {
        output.sync { print("\n\(text)") }
    }

    static func say(_ who: String, _ what: String) {
        let place = "[\(queueName)]".padded(to: 12)
        output.sync { print("  \(place)\(who) \(what)") }
    }

    /// Returns a serial queue whose name is printed with its lines.
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
