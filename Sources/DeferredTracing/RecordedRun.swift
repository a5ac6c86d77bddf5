internal import Deferred

/// The contents of a recording by Deferred and by thread: what became of each Deferred, what ran on each thread, and
/// what caused what.
struct RecordedRun {
    /// Something that ran on a thread, from its start to its end.
    struct Slice {
        let activity: DeferredRecording.Activity
        let queue: String
        let deferred: Int
        let thread: Int
        let start: UInt64
        /// Nil for one that runs yet at the end of the recording.
        var end: UInt64?
        /// What completed the Deferred for which this ran, and when.
        var cause: Cause?
    }

    /// A slice, and a moment in it.
    struct Cause {
        let slice: Int
        let time: UInt64
    }

    /// A stretch in which a Deferred waited for something in particular.
    struct Wait {
        enum Object {
            case nested(Int)
            case followed(Int)
            case dispatcher(String)
        }
        let object: Object
        let start: UInt64
        var end: UInt64?
    }

    struct Item {
        let made: DeferredDiagnostic.Location
        /// It was settled before the recording first saw it.
        let hadFired: Bool
        /// When and on which thread it was first seen, and on which it was settled.
        fileprivate(set) var first: UInt64 = 0
        fileprivate(set) var firstThread = 0
        fileprivate(set) var lastThread = 0
        /// What it is attached to: for a list its inputs.
        fileprivate(set) var attachedTo: [Int] = []
        fileprivate(set) var waits: [Wait] = []
        fileprivate(set) var pauses: [(time: UInt64, thread: Int, isEnd: Bool)] = []
        fileprivate(set) var callback: Int?
        fileprivate(set) var isCallbackLast = false
        fileprivate(set) var outcome: DeferredRecording.Outcome?
        fileprivate(set) var bypassedBy: Int?
        fileprivate(set) var end: UInt64?
        fileprivate(set) var cause: Cause?

        /// `then File.swift`
        var code: String {
            "\(made.origin) \(made.fileID.split(separator: "/").last.map(String.init) ?? made.fileID)"
        }

        /// `then File.swift:12`
        var name: String { "\(code):\(made.line)" }
    }

    /// The Deferreds, the one with the number 1 first.
    private(set) var items: [Item]
    private(set) var slices: [Slice] = []
    /// When the recording ended.
    let end: UInt64
    let droppedEventCount: Int
    let threadNames: [Int: String]
    /// The slices that have begun and not ended, by thread.
    private var open: [Int: [Int]] = [:]

    init(_ contents: EventRecorder.Contents) {
        end = contents.end
        droppedEventCount = contents.dropped
        threadNames = contents.threadNames
        items = contents.known.map { Item(made: $0.made, hadFired: $0.hadFired) }
        for entry in contents.entries {
            take(entry, DeferredRecording.Action(entry, failure: contents.failures[entry.deferred]))
        }
    }

    /// The Deferred with this number.
    func item(_ number: Int) -> Item { items[number - 1] }

    private mutating func take(_ entry: EventRecorder.Entry, _ action: DeferredRecording.Action) {
        let index = Int(entry.deferred)
        let other = action.other ?? 0
        meet(index, entry)
        if other > 0 { meet(other - 1, entry) }
        switch entry.event.kind {
        case .made:
            break
        case .attached:
            items[index].attachedTo.append(other)
        case .waits:
            items[index].isCallbackLast = false
            items[index].wait(for: .nested(other), entry)
        case .follows:
            // Another thread may have settled it before this one noted that it follows.
            if items[index].end == nil { items[index].wait(for: .followed(other), entry) }
        case .dispatched:
            items[index].wait(for: .dispatcher(action.queue ?? ""), entry)
        case .bypassed:
            items[index].finish(entry)
            items[index].bypassedBy = other
        case .paused, .unpaused:
            items[index].pauses.append((entry.time, Int(entry.thread), action.kind == .unpaused))
        case .fired:
            items[index].finish(entry)
            items[index].outcome = action.outcome
            items[index].cause = cause(of: items[index], index + 1, Int(entry.thread))
                .map { Cause(slice: $0, time: entry.time) }
        case .began:
            begin(entry, action)
        case .ended:
            end(entry)
        }
    }

    private mutating func begin(_ entry: EventRecorder.Entry, _ action: DeferredRecording.Action) {
        guard let activity = action.activity else { return }
        let index = Int(entry.deferred)
        var slice = Slice(
            activity: activity, queue: action.queue ?? "", deferred: index + 1, thread: Int(entry.thread),
            start: entry.time)
        if activity == .callback {
            slice.cause = trigger(of: items[index])
            items[index].callback = slices.count
            items[index].endWaits(entry.time)
        }
        open[slice.thread, default: []].append(slices.count)
        slices.append(slice)
    }

    private mutating func end(_ entry: EventRecorder.Entry) {
        guard let ended = open[Int(entry.thread)]?.popLast() else { return }
        slices[ended].end = entry.time
        items[Int(entry.deferred)].isCallbackLast = slices[ended].activity == .callback
    }

    private mutating func meet(_ index: Int, _ entry: EventRecorder.Entry) {
        guard items[index].firstThread == 0 else { return }
        items[index].first = entry.time
        items[index].firstThread = Int(entry.thread)
        items[index].lastThread = Int(entry.thread)
    }

    /// What settled the last that `item` waited for, of what it is attached to.
    private func trigger(of item: Item) -> Cause? {
        item.attachedTo.compactMap { items[$0 - 1].cause }.max { $0.time < $1.time }
    }

    /// The slice in which, or at whose end, a Deferred was settled.
    private func cause(of item: Item, _ number: Int, _ thread: Int) -> Int? {
        let running = open[thread] ?? []
        for index in running.reversed() where slices[index].deferred == number {
            if slices[index].activity.place != nil { return index }
            if slices[index].activity == .canceller { return index }
        }
        if item.isCallbackLast, let callback = item.callback { return callback }
        for wait in item.waits.reversed() {
            switch wait.object {
            case .nested(let other), .followed(let other):
                if let cause = items[other - 1].cause { return cause.slice }
            case .dispatcher:
                break
            }
        }
        return trigger(of: item)?.slice ?? running.last
    }
}

extension RecordedRun.Item {
    fileprivate mutating func wait(for object: RecordedRun.Wait.Object, _ entry: EventRecorder.Entry) {
        waits.append(RecordedRun.Wait(object: object, start: entry.time))
    }

    fileprivate mutating func finish(_ entry: EventRecorder.Entry) {
        endWaits(entry.time)
        end = entry.time
        lastThread = Int(entry.thread)
    }

    fileprivate mutating func endWaits(_ time: UInt64) {
        for index in waits.indices where waits[index].end == nil { waits[index].end = time }
    }
}
