/// C7, D3: one body after the other, and a list that is decided has cancelled the rest before the next body begins. A
/// cancel of a list takes time, in which another thread may end a body; but it comes to what waits first.
final class RemainingSpecification {
    private var outcomes = ["pending", "pending"]
    private var log = ["-1"]
    private var holder: Int? = -1
    private var waiting = [0, 1, 2, 3]
    /// Whether the holder has ended, and nothing follows from that yet.
    private var hasEnded = false
    /// Whether the call `end`, or a cancel, has ended what the bodies 2 and 3 return.
    private var isEnded = false
    /// The lists that are being cancelled, by the numbers of the calls.
    private var cancelled: [Int: Int] = [:]
    /// The calls of which something may follow.
    private var active: Set<Int> = []

    var run: ObjectRun {
        ObjectRun { [self] call, _, number in
            perform(call, number)
            if call == "next", active.contains(number) { proceed(number) }
            while call == "rest", active.contains(number) { proceed(number) }
        } results: { [self] in
            outcomes + [log.joined(separator: " ")]
        }
    }

    private func perform(_ call: String, _ number: Int) {
        if call != "next" && call != "rest" { active.insert(number) }
        switch call {
        case "release": if holder == -1 { hasEnded = true }
        case "end":
            if holder == 2 || holder == 3 { hasEnded = true }
            isEnded = true
        case "cancelFirst", "cancelSecond":
            let list = call == "cancelFirst" ? 0 : 1
            guard outcomes[list] == "pending" else { return _ = active.remove(number) }
            outcomes[list] = "cancelled"
            cancelled[number] = list
        default: break
        }
    }

    /// Cancels one body of the call's list; otherwise does what follows from the holder's end, or begins a body.
    private func proceed(_ number: Int) {
        if let list = cancelled[number] {
            if let waits = waiting.firstIndex(where: { $0 / 2 == list }) {
                waiting.remove(at: waits)
            } else {
                cancelled[number] = nil
                if list == 1, holder == 2 || holder == 3 {
                    (isEnded, hasEnded) = (true, true)
                } else {
                    active.remove(number)
                }
            }
            return
        }
        guard let ended = holder else { return begin(number) }
        guard hasEnded else { return _ = active.remove(number) }
        if ended >= 0, outcomes[ended / 2] == "pending" {
            outcomes[ended / 2] = "0"
            waiting.removeAll { $0 / 2 == ended / 2 }
        }
        (holder, hasEnded) = (nil, false)
    }

    private func begin(_ number: Int) {
        guard !waiting.isEmpty else { return _ = active.remove(number) }
        let next = waiting.removeFirst()
        holder = next
        log.append("\(next)")
        hasEnded = isEnded || next != 2 && next != 3
    }
}
