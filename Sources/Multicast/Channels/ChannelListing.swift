/// A channel and its listeners at one moment, for debugging; see ``Channel/listing`` and
/// ``ChannelDirectory/listing``.
public struct ChannelListing: Sendable, CustomStringConvertible {
    /// A listener.
    public struct Listener: Sendable, CustomStringConvertible {
        /// The type of the object that the listener belongs to.
        public let owner: String
        /// Higher is called earlier.
        public let priority: Int
        /// The type of the dispatcher it is called on; nil if it is called at once.
        public let dispatcher: String?

        /// As in `Window (priority 5, on DispatchQueue)`.
        public var description: String {
            "\(owner) (priority \(priority), \(dispatcher.map { "on \($0)" } ?? "at once"))"
        }
    }

    /// The channel's name; nil if it was made without one.
    public let name: String?
    /// What its messages are.
    public let messageType: any Any.Type
    /// Its listeners, in the order they are called in.
    public let listeners: [Listener]

    /// As in `"chat" of String, 1 listener: Window (priority 5, at once)`.
    public var description: String {
        let title = "\(name.map { "\"\($0)\"" } ?? "unnamed") of \(messageType)"
        if listeners.isEmpty { return "\(title), no listeners" }
        let number = listeners.count == 1 ? "1 listener" : "\(listeners.count) listeners"
        return "\(title), \(number): \(listeners.map(\.description).joined(separator: ", "))"
    }
}
