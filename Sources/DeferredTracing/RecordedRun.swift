internal import Deferred

/// The contents of a recording by Deferred and by thread: what became of each Deferred, what ran on each thread, and
/// what caused what.
struct RecordedRun {
    /// Something that ran on a thread, from its start to its end.
    struct Slice {
        let activity: DeferredRecording.Activity
        let start: DeferredRecording.Event
        /// Nil for one that runs yet at the end of the recording.
        var end: Duration?
        /// What completed the Deferred for which this ran, and when.
        var cause: Cause?
    }

    /// A slice, and a moment in it.
    typealias Cause = (slice: Int, time: Duration)

    /// A stretch in which a Deferred waited for something in particular. Its first event says for what: for a
    /// nested Deferred, for one that it follows, or for a dispatcher.
    typealias Wait = (start: DeferredRecording.Event, end: Duration?)

    struct Item {
        let known: EventRecorder.Known
        /// The event in which it first occurred, and the one in which it was settled or bypassed.
        let first: DeferredRecording.Event
        fileprivate(set) var last: DeferredRecording.Event?
        /// What it is attached to: for a list its inputs.
        fileprivate(set) var attachedTo: [Int] = []
        fileprivate(set) var waits: [Wait] = []
        fileprivate(set) var pauses: [DeferredRecording.Event] = []
        fileprivate var callback: Int?
        fileprivate var isCallbackLast = false
        fileprivate var cause: Cause?

        var made: DeferredDiagnostic.Location { known.made }
        var outcome: DeferredRecording.Outcome? { last?.action.outcome }
        var bypassedBy: Int? { last?.action.other }

        /// `then File.swift`
        var code: String {
            "\(made.origin) \(made.fileID.split(separator: "/").last.map(String.init) ?? made.fileID)"
        }

        /// `then File.swift:12`
        var name: String { "\(code):\(made.line)" }

        fileprivate mutating func endWaits(_ time: Duration) {
            for index in waits.indices where waits[index].end == nil { waits[index].end = time }
        }
    }

    /// The Deferreds, the one with the number 1 first.
    private(set) var items: [Item]
    private(set) var slices: [Slice] = []
    let contents: EventRecorder.Contents
    /// The slices that have begun and not ended, by thread.
    private var open: [Int: [Int]] = [:]

    init(_ contents: EventRecorder.Contents) {
        self.contents = contents
        items = contents.known.map { Item(known: $0, first: contents.events[$0.firstEvent]) }
        for event in contents.events { take(event) }
    }

    /// When the recording ended.
    var end: Duration { contents.end ?? .zero }

    /// The Deferred with this number.
    func item(_ number: Int) -> Item { items[number - 1] }

    private mutating func take(_ event: DeferredRecording.Event) {
        let index = event.deferred - 1
        switch event.action.kind {
        case .attached:
            if let other = event.action.other { items[index].attachedTo.append(other) }
        case .waits, .follows, .dispatched:
            if event.action.kind == .waits { items[index].isCallbackLast = false }
            // Another thread may have settled it before this one noted that it follows.
            if items[index].last == nil { items[index].waits.append((event, nil)) }
        case .paused, .unpaused:
            items[index].pauses.append(event)
        case .bypassed, .settled:
            items[index].endWaits(event.time)
            items[index].last = event
            if event.action.kind == .bypassed { break }
            items[index].cause = cause(of: event).map { ($0, event.time) }
        case .began:
            begin(event)
        case .ended:
            guard let ended = open[event.thread]?.popLast() else { return }
            slices[ended].end = event.time
            items[index].isCallbackLast = slices[ended].activity == .callback
        default:
            break
        }
    }

    private mutating func begin(_ event: DeferredRecording.Event) {
        guard let activity = event.action.activity else { return }
        let index = event.deferred - 1
        var slice = Slice(activity: activity, start: event)
        if activity == .callback {
            slice.cause = trigger(of: items[index])
            items[index].callback = slices.count
            items[index].endWaits(event.time)
        }
        open[event.thread, default: []].append(slices.count)
        slices.append(slice)
    }

    /// Returns what settled the last of the Deferreds that `item` is attached to.
    private func trigger(of item: Item) -> Cause? {
        item.attachedTo.compactMap { items[$0 - 1].cause }.max { $0.time < $1.time }
    }

    /// The slice in which, or at whose end, a Deferred was settled.
    private func cause(of event: DeferredRecording.Event) -> Int? {
        let item = item(event.deferred)
        let running = open[event.thread] ?? []
        let completing = running.last { index in
            let (activity, start) = (slices[index].activity, slices[index].start)
            return start.deferred == event.deferred && (activity.place != nil || activity == .canceller)
        }
        if let completing { return completing }
        if item.isCallbackLast, let callback = item.callback { return callback }
        let awaited = item.waits.compactMap(\.start.action.other).compactMap { items[$0 - 1].cause }
        return awaited.last?.slice ?? trigger(of: item)?.slice ?? running.last
    }
}
