import Deferred
import Dispatch
import Multicast

struct Line: Sendable {
    let speaker: String
    let text: String
}

/// A member of a room, which the room notifies and asks.
protocol Member: AnyObject, Sendable {
    var name: String { get }
    func joined(_ name: String)
    func left(_ name: String)
    /// Whether the member has answered a command, such as "/time".
    func handle(_ command: String, in room: Room) -> Bool
    /// Whether the room may close, sooner or later.
    func mayClose() -> Deferred<Bool>
}

/// A room with each of the module's types: members are notified and asked through a `MulticastDelegate`, lines
/// are posted on a `BroadcastChannel`, the history is a `SynchronizedValue`, and members who ask for the topic share
/// one answer by `MulticastClosures`.
final class Room: Sendable {
    struct UnknownCommand: Error {
        let command: String
    }

    let members = MulticastDelegate<any Member>()
    let lines: BroadcastChannel<Line>
    let history = SynchronizedValue<[Line]>([])

    private let topicAskers = MulticastClosures<String, any Error>()
    private let library = Transcript.queue("library")

    init(_ name: String) {
        lines = BroadcastChannel(name)
        // Higher than any member's: the history has a line before anybody sees it.
        lines.listen(self, priority: 100) { room, line in room.history.write { $0.append(line) } }
    }

    func join(_ member: any Member, on dispatcher: (any Dispatcher)?) {
        let name = member.name
        members.notify { $0.joined(name) }
        members.add(member, on: dispatcher)
    }

    /// Posts a line to all members except its speaker.
    func say(_ text: String, _ speaker: any Member) {
        lines.post(Line(speaker: speaker.name, text: text), from: speaker)
    }

    /// Asks the members one after another, each on its queue, until one handles the command; fails if none does.
    func command(_ command: String) -> Deferred<Void> {
        members.any { $0.handle(command, in: self) }.done { handled in
            if !handled { throw UnknownCommand(command: command) }
        }
    }

    /// Asks the members whether the room may close. The first no keeps it open.
    func proposeClosing() -> Deferred<Bool> {
        members.all { $0.mayClose() }
    }

    /// Looks the topic up for the first member that asks; the others wait for the same answer.
    func topic(
        for asker: any Member, on dispatcher: (any Dispatcher)?, _ show: @escaping @Sendable (String) -> Void
    ) {
        let isFirst = topicAskers.add(
            asker, on: dispatcher, success: show, failure: { show("nobody knows: \($0)") })
        guard isFirst else { return }
        Transcript.say("room", "sends to the library for the topic")
        Deferred.resolved("multicasting").map(on: library) { $0.uppercased() }
            .both { [topicAskers] topic -> Void in topicAskers.complete(with: topic) }
    }
}
