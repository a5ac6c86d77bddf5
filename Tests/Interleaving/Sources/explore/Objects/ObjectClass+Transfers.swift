import Deferred
import Foundation
import Interleaving

@testable import DeferredOperations

/// The parts of transfers that threads share: the buffer of a stream, and the requests that wait for a place.
extension ObjectClass {
    /// A stream of pieces of one byte, of which one is in memory and the others are in a file. A reader that receives the
    /// failure handles that of the request (U1).
    static let streamBuffer = ObjectClass(
        name: "streamBuffer", calls: ["append", "take", "note", "end", "fail", "cancel"],
        exclusive: ["take"],
        steps: [
            "append": ["append", "deliver", "deliverAll"], "take": ["take", "deliver", "deliverAll"],
            "end": ["end", "deliver", "deliverAll"], "fail": ["fail", "deliver", "deliverAll"],
            "cancel": ["cancel", "deliver", "deliverAll"],
        ],
        finerStep: "deliver",
        make: {
            reports = []
            let buffer = Box(StreamBuffer(limit: 1, pauseByteCount: 1))
            let (deferred, resolver) = Deferred<StreamDataSource.Summary>.withResolver()
            let request = Box(deferred)
            let state = CallTable(), rooms = Log()
            buffer.value!.setOnRoom { rooms.add("room") }
            return ObjectRun { call, _, number in
                guard let buffer = buffer.value else { return }
                switch call {
                case "append":
                    let pauses = try? buffer.append(Data([UInt8(number)]), mayPause: true)
                    state.results[number] = pauses == true ? "pauses" : "goes on"
                case "take":
                    state.results[number] = "pending"
                    buffer.take { [unowned buffer] taken in
                        if case .failure = taken { buffer.handleFailure() }
                        state.results[number] = describe(taken)
                    }
                case "note": buffer.note(request.value!)
                case "end": buffer.end(nil)
                case "fail": buffer.end(E1())
                default: buffer.end(CancellationError())
                }
                buffer.deliver()
            } results: {
                resolver.reject(E1())
                _ = request.take()
                _ = buffer.take()
                return state.ends() + [rooms.text, "\(reports)"]
            }
        },
        specify: {
            let state = CallTable()
            var (memory, file, readers): ([Int], [Int], [Int]) = ([], [], [])
            var (end, isPaused, mayCall, rooms): (String?, Bool, Bool, [String]) = (nil, false, true, [])
            var (isNoted, isThrown, isHandled) = (false, false, false)
            func take() -> String? {
                if memory.isEmpty, file.isEmpty { return end }
                let piece = memory.isEmpty ? file.removeFirst() : memory.removeFirst()
                if isPaused, file.isEmpty {
                    isPaused = false
                    if mayCall { rooms.append("room") }
                }
                return "[\(piece)]"
            }
            @discardableResult func deliver() -> Bool {
                guard let reader = readers.first, let taken = take() else { return false }
                readers.removeFirst()
                state.results[reader] = taken
                if taken == "E1" || taken == "cancelled" { isThrown = true }
                if isThrown, isNoted { isHandled = true }
                return true
            }
            return ObjectRun { call, _, number in
                switch call {
                case "append":
                    if end == nil {
                        memory.isEmpty && file.isEmpty ? memory.append(number) : file.append(number)
                    }
                    let pauses = end == nil && !file.isEmpty
                    if pauses { isPaused = true }
                    state.results[number] = pauses ? "pauses" : "goes on"
                case "take":
                    readers.append(number)
                    state.results[number] = "pending"
                case "deliver": deliver()
                case "deliverAll": while deliver() {}
                case "note": if isThrown { isHandled = true } else { isNoted = true }
                default:
                    guard end == nil || call == "cancel" else { return }
                    if call == "end" { isNoted = false }
                    if call == "cancel" { (memory, file) = ([], []) }
                    end = ["end": "end", "fail": "E1"][call] ?? "cancelled"
                    mayCall = false
                }
            } results: {
                state.ends() + [rooms.joined(separator: " "), isHandled ? "[]" : "[\"unhandled:E1\"]"]
            }
        })

    private static func describe(_ taken: StreamBuffer.Taken) -> String {
        switch taken {
        case .success([]): "end"
        case .success(let pieces): "\(pieces.flatMap { $0 })"
        case .failure(let error): show(error)
        }
    }

    /// At most two requests at once, and one for each host until that limit is raised.
    static let scheduling = ObjectClass(
        name: "scheduling", calls: ["add", "addUrgent", "addOther", "finish", "cancel", "raise"],
        steps: [
            "add": ["add", "admit"], "addUrgent": ["addUrgent", "admit"], "addOther": ["addOther", "admit"],
            "cancel": ["beginCancel", "leave"],
        ],
        make: {
            let requests = Locked(ScheduledRequests(limit: 2, limitPerHost: 1))
            let state = CallTable()
            let added = Box<[Int: Work]>([:])
            func apply(_ change: ScheduledRequests.Change) {
                requests.withLock {
                    $0.apply(change)
                    for case let work as Work in $0.admit() { state.results[work.number] = "started" }
                }
            }
            return ObjectRun { call, thread, number in
                switch call {
                case "finish":
                    guard let work = added.value![thread] else { return }
                    let mayFinish = requests.withLock { _ in
                        let mayFinish = state.results[work.number] == "started"
                        if mayFinish { state.results[work.number] = "finished" }
                        return mayFinish
                    }
                    if mayFinish { apply(.finished(work)) }
                case "cancel":
                    guard let work = added.value![thread] else { return }
                    work.isBeingCancelled = true
                    requests.withLock { if $0.leave(work) != nil { state.results[work.number] = "left" } }
                case "raise": apply(.limitPerHost(2))
                default:
                    let work = Work(number, host: call == "addOther" ? "b" : "a")
                    added.value![thread] = work
                    state.results[number] = "waiting"
                    _ = requests.withLock {
                        $0.add(work, call == "addUrgent" ? .high : .normal, isReady: true)
                    }
                    apply(.other)
                }
            } results: {
                state.ends() + requests.withLock { ["\($0.inProgressCount), \($0.waitingCount)"] }
            }
        },
        specify: {
            let state = CallTable()
            var waiting: [(number: Int, host: String, isUrgent: Bool)] = []
            var underWay: [Int: String] = [:]
            var cancelled: Set<Int> = []
            var limitPerHost = 1
            func admit() {
                while underWay.count < 2 {
                    let mayStart = waiting.filter { request in
                        !cancelled.contains(request.number)
                            && underWay.values.count { $0 == request.host } < limitPerHost
                    }
                    guard let next = mayStart.first(where: { $0.isUrgent }) ?? mayStart.first else { return }
                    waiting.removeAll { $0.number == next.number }
                    underWay[next.number] = next.host
                    state.results[next.number] = "started"
                }
            }
            return ObjectRun { call, thread, number in
                let last = state.last[thread] ?? -1
                switch call {
                case "finish":
                    guard underWay.removeValue(forKey: last) != nil else { return }
                    state.results[last] = "finished"
                    admit()
                case "beginCancel": cancelled.insert(last)
                case "leave":
                    if waiting.contains(where: { $0.number == last }) { state.results[last] = "left" }
                    waiting.removeAll { $0.number == last }
                case "raise":
                    limitPerHost = 2
                    admit()
                case "admit": admit()
                default:
                    (state.last[thread], state.results[number]) = (number, "waiting")
                    waiting.append((number, call == "addOther" ? "b" : "a", call == "addUrgent"))
                }
            } results: {
                state.ends() + ["\(underWay.count), \(waiting.count)"]
            }
        })

    /// Sound as `@unchecked Sendable`: one thread of a run is executed at a time.
    private final class Work: Operation, ScheduledOperation, @unchecked Sendable {
        let number: Int
        let host: String?
        var isBeingCancelled = false

        init(_ number: Int, host: String) {
            (self.number, self.host) = (number, host)
        }

        func enter(_ queue: OperationQueue) {}
    }
}
