import Deferred
import Dispatch
import Multicast

/// A person, who is called on the main queue and votes after a pause.
final class Person: Member {
    let name: String
    private let room: Room
    private let pause: Duration
    private let wantsToTalk = SynchronizedValue(true)

    init(_ name: String, in room: Room, pause: Duration) {
        self.name = name
        self.room = room
        self.pause = pause
        room.join(self, on: .main)
        room.lines.listen(self, on: .main) { person, line in
            Transcript.say(person.name, "reads \(line.speaker): \(line.text)")
        }
    }

    func joined(_ name: String) { Transcript.say(self.name, "sees \(name) come in") }
    func left(_ name: String) { Transcript.say(self.name, "sees \(name) go") }
    func handle(_ command: String, in room: Room) -> Bool { false }

    /// Votes no the first time and yes from then on. No thread is blocked during the pause.
    func mayClose() -> Deferred<Bool> {
        let answer = wantsToTalk.write { wants in
            defer { wants = false }
            return !wants
        }
        Transcript.say(name, "thinks about closing")
        return .after(pause, timer: .main, value: answer).map { [name] answer in
            Transcript.say(name, answer ? "votes yes" : "votes no")
            return answer
        }
    }
}

/// A program that runs in the background, on a queue of its own.
final class Robot: Member {
    let name = "clock"
    private let queue = Transcript.queue("clock")

    init(in room: Room) {
        room.join(self, on: queue)
        room.lines.listen(self, priority: 1, on: queue) { robot, line in
            Transcript.say(robot.name, "counts \(line.text.count) letters from \(line.speaker)")
        }
    }

    func joined(_ name: String) {}
    func left(_ name: String) {}

    func handle(_ command: String, in room: Room) -> Bool {
        Transcript.say(name, "is asked about \(command)")
        guard command == "/time" else { return false }
        room.say("it is late", self)
        return true
    }

    func mayClose() -> Deferred<Bool> {
        Transcript.say(name, "votes yes")
        return .resolved(true)
    }
}

/// A guest, who is called at once, on the thread that notifies or posts, and leaves by being deallocated.
final class Guest: Member {
    let name = "guest"
    private let room: Room

    init(in room: Room) {
        self.room = room
        room.join(self, on: nil)
        room.lines.listen(self) { guest, line in
            Transcript.say(guest.name, "hears \(line.speaker): \(line.text)")
        }
    }

    deinit {
        room.members.remove(self)
        room.lines.remove(self)
        let name = name
        room.members.notify { $0.left(name) }
    }

    func joined(_ name: String) { Transcript.say(self.name, "waves to \(name)") }
    func left(_ name: String) {}
    func handle(_ command: String, in room: Room) -> Bool { false }
    func mayClose() -> Deferred<Bool> { .resolved(true) }
}
