import Deferred
import Dispatch
import Multicast

struct Line: Sendable {
    let speaker: String
    let text: String
}

/// What a room tells and asks those who are in it.
protocol Member: AnyObject, Sendable {
    var name: String { get }
    func joined(_ name: String)
    func left(_ name: String)
    /// Whether the member has answered a command, such as "/time".
    func handle(_ command: String, in room: Room) -> Bool
    /// Whether the room may close, sooner or later.
    func mayClose() -> Deferred<Bool>
}

/// One event, many listeners, four ways: members are told and asked through a multicast delegate, lines go
/// over a channel, the history is read by many and written by one, and those who ask for the topic share one
/// answer.
final class Room: Sendable {
    struct UnknownCommand: Error {
        let command: String
    }

    let members = MulticastDelegate<any Member>()
    let lines: Channel<Line>
    let history = SynchronizedValue<[Line]>([])

    private let topicAskers = MulticastClosures<String, any Error>()
    private let library = Stage.queue("library")

    init(_ name: String) {
        lines = Channel(name)
        // Higher than any member's: the history has a line before anybody sees it.
        lines.listen(self, priority: 100) { room, line in room.history.write { $0.append(line) } }
    }

    func join(_ member: any Member, on dispatcher: (any Dispatcher)?) {
        let name = member.name
        members.notify { $0.joined(name) }
        members.add(member, on: dispatcher)
    }

    /// A line reaches everyone but its speaker.
    func say(_ text: String, _ speaker: any Member) {
        lines.post(Line(speaker: speaker.name, text: text), from: speaker)
    }

    /// Asks the members in turn, each on its queue, until one handles the command; if none does, that is an
    /// error.
    func command(_ command: String) -> Deferred<Void> {
        members.any { $0.handle(command, in: self) }.then { handled in
            if !handled { throw UnknownCommand(command: command) }
        }
    }

    /// Any no keeps the room open.
    func proposeClosing() -> Deferred<Bool> {
        members.all { $0.mayClose() }
    }

    /// The first to ask sends somebody to look it up, the others wait for the same answer.
    func topic(
        for asker: any Member, on dispatcher: (any Dispatcher)?, _ show: @escaping @Sendable (String) -> Void
    ) {
        let isFirst = topicAskers.add(
            asker, on: dispatcher, success: show, failure: { show("nobody knows: \($0)") })
        guard isFirst else { return }
        Stage.say("room", "sends to the library for the topic")
        Deferred.resolved("multicasting").then(on: library) { $0.uppercased() }
            .both { [topicAskers] topic -> Void in topicAskers.complete(with: topic) }
    }
}
