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
        Stage.nameMainQueue()
        let room = Room("lobby")

        try await scene(
            "They come in. Each is called where it wants to be: on the main queue, on its own, or at once.")
        let ada = Person("ada", in: room, pause: pause)
        let robot = Robot(in: room)
        var guest: Guest? = Guest(in: room)
        let bob = Person("bob", in: room, pause: pause)
        try await settle()

        try await scene(
            "Ada says something. She is left out herself; the higher priority is handed it first.")
        room.say("hello, everybody", ada)
        try await settle()

        try await scene("A command goes to one after the other, each on its queue, until one handles it.")
        try await room.command("/time").value
        try await settle()

        try await scene("Another is handled by nobody. Only when all have said no is that an error.")
        do {
            try await room.command("/weather").value
        } catch {
            Stage.say("room", "answers: \(error)")
        }

        try await scene("Three ask for the topic at once. One look-up answers all.")
        for member in [ada, bob] {
            room.topic(for: member, on: .main) { [name = member.name] in
                Stage.say(name, "learns the topic: \($0)")
            }
        }
        room.topic(for: robot, on: nil) { Stage.say("clock", "learns the topic: \($0)") }
        try await settle()

        try await scene(
            "Bob speaks, and the guest leaves before the others have read it: he is just let go of.")
        room.say("who is the guest?", bob)
        guest = nil
        try await settle()
        Stage.say(
            "room", "has \(room.members.count) members: \(room.members.snapshot().map(\.delegate.name))")

        try await scene("May the room close? Any no keeps it open, and nobody is asked after it.")
        Stage.say("room", try await room.proposeClosing().value ? "closes" : "stays open")
        try await scene("And now?")
        while !(try await room.proposeClosing().value) { Stage.say("room", "stays open") }
        Stage.say("room", "closes, after \(room.history.read { $0.count }) lines")
        Stage.title("For debugging, a channel tells who listens:\n  \(room.lines.listing)")
        withExtendedLifetime((ada, bob, robot, guest)) {}
    }

    private func scene(_ text: String) async throws {
        try await Deferred.after(pause, on: .main).value
        Stage.title(text)
        try await Deferred.after(pause, on: .main).value
    }

    /// Until the queues have done what the scene gave them to do.
    private func settle() async throws {
        try await Deferred.after(max(pause, .milliseconds(50)), on: .main).value
    }
}
