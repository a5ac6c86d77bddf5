package import Deferred

/// The events of one recording so far.
///
/// Every event has a time of its own, later than that of the event before it, so that the times alone give
/// the order.
package final class EventRecorder: Recording.Recorder {
    /// An event, in few bytes.
    struct Entry {
        let time: UInt64
        let deferred: Int32
        let thread: UInt32
        let action: DeferredRecording.Action.Step
    }

    /// A Deferred that has occurred in the recording.
    struct Known {
        let origin: DeferredRecording.Origin
        let made: DeferredDiagnostic.Location
        /// Whether it was settled when it first occurred.
        let hadFired: Bool
    }

    /// A copy of everything recorded, for reading.
    struct Contents {
        /// In pieces, so that events are never moved.
        fileprivate(set) var pieces: [[Entry]] = []
        fileprivate(set) var count = 0
        fileprivate(set) var dropped = 0
        /// When the recording ended, or now if it is active; after all events.
        fileprivate(set) var end: UInt64 = 0
        /// By their number in this recording, the first at 0.
        fileprivate(set) var known: [Known] = []
        /// What the failures were, by the number of the Deferred.
        fileprivate(set) var failures: [Int32: String] = [:]
        fileprivate var threads: [UInt32: String] = [:]

        /// The action of an event, with the description of a failure.
        func action(of entry: Entry) -> DeferredRecording.Action.Step {
            guard case .fired(.failure) = entry.action else { return entry.action }
            return .fired(.failure(failures[entry.deferred] ?? ""))
        }

        var threadNames: [Int: String] {
            Dictionary(
                uniqueKeysWithValues: threads.map { number, name in
                    (Int(number), name.isEmpty ? "thread \(number)" : name)
                })
        }
    }

    private struct State {
        var contents = Contents()
        var numbers: [UInt32: Int32] = [:]
        /// Whether Deferreds created in a file are recorded.
        var files: [UnsafePointer<UInt8>: Bool] = [:]
        /// The number of activities that started on a thread and have not ended. The end of an activity that
        /// started before the recording is not recorded.
        var open: [UInt32: Int] = [:]
        var lastTime: UInt64 = 0
        var isStopped = false
    }

    private let limit: Int
    private let places: [String]
    private let now: @Sendable () -> UInt64
    private let start: UInt64
    private let state = SpinLocked(State())
    private static let pieceSize = 4096

    /// - Parameters:
    ///   - places: Modules and files; only Deferreds created there are recorded. Empty: all.
    ///   - now: Returns nanoseconds since a fixed moment.
    init(limit: Int, places: [String], now: @escaping @Sendable () -> UInt64) {
        self.limit = max(limit, 0)
        self.places = places
        self.now = now
        start = now()
    }

    func stop() {
        state.withLock { state in
            if state.isStopped { return }
            state.isStopped = true
            state.contents.end = nextTime(after: state.lastTime)
        }
    }

    var contents: Contents {
        state.withLock { state in
            var contents = state.contents
            if !state.isStopped { contents.end = nextTime(after: state.lastTime) }
            return contents
        }
    }

    private func nextTime(after last: UInt64) -> UInt64 { max(last + 1, now() &- start) }

    package func record(_ event: Recording.Event, of subject: Recording.Subject) {
        let thread = Platform.threadNumber
        let isNewThread = state.withLock { state in
            guard !state.isStopped, isNoted(subject, &state) else { return false }
            if case .ended = event {
                guard let open = state.open[thread], open > 0 else { return false }
                state.open[thread] = open - 1
            }
            guard state.contents.count < limit, subject.number != 0 else {
                state.contents.dropped += 1
                return false
            }
            if case .began = event { state.open[thread, default: 0] += 1 }
            // The Deferred that existed first gets the lower number.
            if case .attached(let upstream) = event, upstream.number != 0, isNoted(upstream, &state) {
                _ = number(of: upstream, &state)
            }
            let deferred = number(of: subject, &state)
            guard let action = action(event, &state) else { return false }
            state.lastTime = nextTime(after: state.lastTime)
            add(Entry(time: state.lastTime, deferred: deferred, thread: thread, action: action), &state)
            return state.contents.threads[thread] == nil
        }
        guard isNewThread else { return }
        let name = Platform.currentThreadName
        state.withLock { $0.contents.threads[thread] = name }
    }

    /// Adds the description of a failure that was recorded.
    package func describeFailure(of subject: Recording.Subject, _ text: String) {
        state.withLock { state in
            guard let number = state.numbers[subject.number] else { return }
            state.contents.failures[number] = text
        }
    }

    private func add(_ entry: Entry, _ state: inout State) {
        state.contents.count += 1
        if state.contents.pieces.last.map({ $0.count == EventRecorder.pieceSize }) ?? true {
            var piece: [Entry] = []
            piece.reserveCapacity(EventRecorder.pieceSize)
            state.contents.pieces.append(piece)
        }
        state.contents.pieces[state.contents.pieces.count - 1].append(entry)
    }

    private func number(of subject: Recording.Subject, _ state: inout State) -> Int32 {
        if let number = state.numbers[subject.number] { return number }
        let number = Int32(state.contents.known.count)
        state.contents.known.append(
            Known(origin: subject.made.origin, made: subject.made, hadFired: subject.isSettled))
        state.numbers[subject.number] = number
        return number
    }

    private func isNoted(_ subject: Recording.Subject, _ state: inout State) -> Bool {
        if places.isEmpty { return true }
        if let isNoted = state.files[subject.made.file] { return isNoted }
        let fileID = subject.made.fileID
        let isNoted = places.contains { $0 == fileID || fileID.hasPrefix($0 + "/") }
        state.files[subject.made.file] = isNoted
        return isNoted
    }

    /// Returns nil if the event concerns another Deferred that is not recorded.
    private func action(_ event: Recording.Event, _ state: inout State) -> DeferredRecording.Action.Step? {
        func other(_ subject: Recording.Subject) -> Int? {
            guard subject.number != 0, isNoted(subject, &state) else { return nil }
            return Int(number(of: subject, &state)) + 1
        }
        switch event {
        case .created: return .made
        case .attached(let upstream): return other(upstream).map { .attached(to: $0) } ?? .made
        case .waits(let inner): return other(inner).map { .waits(for: $0) }
        case .follows(let followed): return other(followed).map { .follows($0) }
        case .bypassed(let waiter): return other(waiter).map { .bypassed(by: $0) }
        case .began(let activity, let queue):
            return .began(DeferredRecording.Activity(activity), queue: queue)
        case .ended: return .ended
        case .dispatched(let name): return .dispatched(to: name)
        case .settled(let outcome): return .fired(DeferredRecording.Outcome(outcome))
        case .paused: return .paused
        case .unpaused: return .unpaused
        }
    }
}

extension DeferredRecording.Activity {
    fileprivate init(_ activity: Recording.Activity) {
        self =
            switch activity {
            case .callback: .callback
            case .canceller: .canceller
            case .finalizer: .finalizer
            case .completing(let place): .firing(at: place)
            case .cancelling: .cancelling
            case .unpausing: .unpausing
            }
    }
}

extension DeferredRecording.Outcome {
    /// The description of a failure follows when the error's own code has run.
    fileprivate init(_ outcome: Recording.Outcome) {
        self =
            switch outcome {
            case .value: .value
            case .failure: .failure("")
            case .cancelled: .cancelled
            }
    }
}
