import CInterleaving
import Deferred
import Interleaving
import Multicast

extension ObjectClass {
    // MARK: A readers-writer value

    static let readersWriter = ObjectClass(
        name: "readersWriter", calls: ["read", "write", "readTwice"],
        make: {
            let value = SynchronizedValue(0)
            let calls = Calls<Int>()
            let inside = Cell()
            return ObjectRun { call, _, number in
                let result: Int
                switch call {
                case "read": result = value.value
                case "write":
                    result = value.write { number in
                        let before = number
                        inside.write()
                        number = before + 1
                        return number
                    }
                default:
                    result = value.read { number in
                        inside.read()
                        return number + value.read { $0 }
                    }
                }
                calls.results[number] = "\(result)"
            } results: {
                calls.ends()
            }
        },
        specify: {
            let state = CallTable()
            var value = 0
            return ObjectRun { call, _, number in
                if call == "write" { value += 1 }
                state.results[number] = "\(call == "readTwice" ? 2 * value : value)"
            } results: {
                state.ends()
            }
        })

    // MARK: A channel: each listener receives the messages of one thread in their order

    static let channel = ObjectClass(
        name: "channel", calls: ["post", "postRetained", "listen", "remove", "release", "finish"],
        exclusive: ["post", "postRetained"],
        make: {
            let channel = BroadcastChannel<Int>()
            channel.post(99, retained: true)
            let state = Received()
            return ObjectRun { call, thread, number in
                switch call {
                case "post": channel.post(number)
                case "postRetained": channel.post(number, retained: true)
                case "listen":
                    channel.listen(state.owner(thread, number)) { state.receive($0, number) }
                case "remove": if let owner = state.owners[thread] { channel.remove(owner) }
                case "release": state.release(thread)
                default: channel.finish()
                }
            } results: {
                state.ends() + [channel.retainedMessage.map { "retained \($0)" } ?? "none retained"]
            }
        },
        specify: {
            let state = Received()
            var listeners: [Int] = []
            var retained: Int? = 99
            var isFinished = false
            return ObjectRun { call, thread, number in
                switch call {
                case "post", "postRetained":
                    if isFinished { return }
                    if call == "postRetained" { retained = number }
                    for listener in listeners { state.receive(number, listener) }
                case "listen":
                    _ = state.owner(thread, number)
                    if isFinished { return }
                    listeners.append(number)
                    if let retained { state.receive(retained, number) }
                case "remove", "release": listeners.removeAll { $0 == state.last[thread] }
                default: (isFinished, listeners, retained) = (true, [], nil)
                }
            } results: {
                state.ends() + [retained.map { "retained \($0)" } ?? "none retained"]
            }
        })

    // MARK: Delegates, which receive a call of `notify` at once or when all threads have ended

    static let delegates = ObjectClass(
        name: "delegates", calls: ["notify", "add", "addQueued", "remove", "count"],
        steps: ["notify": ["notify", "deliver", "deliverAll"], "count": ["notify", "count"]],
        finerStep: "deliver",
        make: {
            let delegates = MulticastDelegate<Received.Owner>(), box = WorkBox()
            let state = Received()
            return ObjectRun { call, thread, number in
                switch call {
                case "notify": delegates.notify { state.receive(number, $0.number) }
                case "add": delegates.add(state.owner(thread, number), on: nil)
                case "addQueued": delegates.add(state.owner(thread, number), on: Stored(box: box))
                case "count": state.results[number] = "\(delegates.count)"
                case "release": state.release(thread)
                default: if let owner = state.owners[thread] { delegates.remove(owner) }
                }
            } results: {
                box.runAll()
                return state.ends(sorted: true) + ["\(delegates.count)"]
            }
        },
        specify: {
            let state = Received()
            var delegates: [Int] = []
            var queued: Set<Int> = []
            /// The delegates that each call of `notify` has found, and not called yet.
            var found: [Int: [Int]] = [:]
            func deliver(_ number: Int) {
                guard let delegate = found[number]?.first else { return }
                found[number]!.removeFirst()
                if delegates.contains(delegate) { state.receive(number, delegate) }
            }
            return ObjectRun { call, thread, number in
                switch call {
                case "notify": found[number] = delegates
                case "deliver": deliver(number)
                case "deliverAll": for _ in found[number]! { deliver(number) }
                case "count": state.results[number] = "\(found[number]!.count { delegates.contains($0) })"
                case "remove", "release":
                    guard let last = state.last[thread] else { return }
                    delegates.removeAll { $0 == last }
                    // What waits in a queue is not delivered after the removal.
                    if queued.contains(last) { state.received[last] = nil }
                default:
                    _ = state.owner(thread, number)
                    delegates.append(number)
                    if call == "addQueued" { queued.insert(number) }
                }
            } results: {
                state.ends(sorted: true) + ["\(delegates.count)"]
            }
        })

    /// The same, whose owners release them. One thread notifies: a delegate that another thread is just calling lives on,
    /// and is there for the others until that call returns.
    static let releasedDelegates = {
        var object = delegates
        object.name = "releasedDelegates"
        (object.calls, object.exclusive) = (["notify", "add", "addQueued", "release"], ["notify"])
        return object
    }()
}

/// Listeners with their messages, by the numbers of the calls that added and posted them.
private final class Received: CallTable, @unchecked Sendable {
    final class Owner: Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    /// The last owner of each thread; and those before it.
    private(set) var owners: [Int: Owner] = [:]
    private var others: [Owner] = []
    var received: [Int: [Int]] = [:]
    private let cell = Cell()

    func owner(_ thread: Int, _ number: Int) -> Owner {
        let owner = Owner(number)
        if let other = owners.updateValue(owner, forKey: thread) { others.append(other) }
        last[thread] = number
        return owner
    }

    /// Releases the thread's last owner. (Not inlined: the table has to be up to date before.)
    @inline(never)
    func release(_ thread: Int) {
        let released = owners.removeValue(forKey: thread)
        cell.write()
        _ = consume released
    }

    func receive(_ message: Int, _ listener: Int) {
        cell.write()
        received[listener, default: []].append(message)
    }

    func ends(sorted: Bool = false) -> [String] {
        ends()
            + received.sorted { $0.key < $1.key }.map {
                "\($0.key) received \(sorted ? $0.value.sorted() : $0.value)"
            }
    }
}
