import Deferred
import Dispatch
import Foundation
import Multicast

/// A room with a person on the main queue, a robot in the background and a guest who leaves, played as a
/// scene: `swift run chatroom`, or `swift run chatroom --fast` without the pauses.
@main
struct Chatroom {
    static func main() async throws {
        let options = CommandLine.arguments.dropFirst()
        if let unknown = options.first(where: { $0 != "--fast" }) {
            print("chatroom: unknown option \(unknown)\nusage: chatroom [--fast]")
            exit(2)
        }
        try await Chatroom(pause: options.isEmpty ? .milliseconds(700) : .zero).play()
    }

    let pause: Duration

    func play() async throws {
        Transcript.nameMainQueue()
        let room = Room("lobby")

        try await scene(
            "The members join. Each is called on its dispatcher: the main queue, a queue of its own, or at once."
        )
        let ada = Person("ada", in: room, pause: pause)
        let robot = Robot(in: room)
        var guest: Guest? = Guest(in: room)
        let bob = Person("bob", in: room, pause: pause)
        try await settle()

        try await scene(
            "Ada says something. She does not receive it herself; listeners of higher priority receive it first."
        )
        room.say("hello, everybody", ada)
        try await settle()

        try await scene(
            "A command is offered to one member after the other, each on its queue, until one handles it.")
        try await room.command("/time").value
        try await settle()

        try await scene("No member handles another command. That is an error once all of them have said no.")
        do {
            try await room.command("/weather").value
        } catch {
            Transcript.say("room", "answers: \(error)")
        }

        try await scene("Three members ask for the topic at the same time. One look-up answers all of them.")
        for member in [ada, bob] {
            room.topic(for: member, on: .main) { [name = member.name] in
                Transcript.say(name, "learns the topic: \($0)")
            }
        }
        room.topic(for: robot, on: nil) { Transcript.say("clock", "learns the topic: \($0)") }
        try await settle()

        try await scene(
            "Bob speaks, and the guest leaves before the others have read it: it is deallocated.")
        room.say("who is the guest?", bob)
        guest = nil
        try await settle()
        Transcript.say(
            "room", "has \(room.members.count) members: \(room.members.elements.map(\.delegate.name))")

        try await scene("May the room close? The first no keeps it open, and no other member is asked.")
        Transcript.say("room", try await room.proposeClosing().value ? "closes" : "stays open")
        try await scene("And now?")
        while !(try await room.proposeClosing().value) { Transcript.say("room", "stays open") }
        Transcript.say("room", "closes, after \(room.history.read { $0.count }) lines")
        Transcript.title("For debugging, a channel lists its listeners:\n  \(room.lines.listing)")
        withExtendedLifetime((ada, bob, robot, guest)) {}
    }

    private func scene(_ text: String) async throws {
        try await Deferred.after(pause, timer: .main).value
        Transcript.title(text)
        try await Deferred.after(pause, timer: .main).value
    }

    /// Waits until the queues have run the work of the scene.
    private func settle() async throws {
        try await Deferred.after(max(pause, .milliseconds(50)), timer: .main).value
    }
}
