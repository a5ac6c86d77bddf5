/// What one recording has noted so far.
///
/// Every event has a time of its own, later than that of the event before it, so that the times alone give
/// the order.
final class Recorder: Sendable {
    /// An event, in few bytes.
    struct Entry {
        let time: UInt64
        let deferred: Int32
        let thread: UInt32
        let action: DeferredRecording.Action
    }

    /// A Deferred that the recording has met.
    struct Known {
        let origin: DeferredRecording.Origin
        let made: DeferredDiagnostic.Location
        /// Whether it had fired when it was met.
        let hadFired: Bool
    }

    /// All that there is, for those who read it.
    struct Contents {
        /// In pieces, so that none is ever moved to make room.
        fileprivate(set) var pieces: [[Entry]] = []
        fileprivate(set) var count = 0
        fileprivate(set) var dropped = 0
        /// When the recording ended, or now if it goes on; after all events.
        fileprivate(set) var end: UInt64 = 0
        /// By their number in this recording, the first at 0.
        fileprivate(set) var known: [Known] = []
        /// What the failures were, by the number of the Deferred.
        fileprivate(set) var failures: [Int32: String] = [:]
        fileprivate var threads: [UInt32: String] = [:]

        /// What an event was, a failure in words.
        func action(of entry: Entry) -> DeferredRecording.Action {
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
        /// Whether what is made in a file is noted.
        var files: [UnsafePointer<UInt8>: Bool] = [:]
        /// What has begun on a thread and not ended: what ends that was begun before the recording is not
        /// noted.
        var open: [UInt32: Int] = [:]
        var lastTime: UInt64 = 0
        var isStopped = false
    }

    private let limit: Int
    private let places: [String]
    private let now: @Sendable () -> UInt64
    private let start: UInt64
    private let state = Guarded(State())
    private static let pieceSize = 4096

    /// - Parameters:
    ///   - places: Modules and files; only what is made there is noted. None: everything.
    ///   - now: Nanoseconds since whenever.
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

    func note(_ subject: Recording.Subject, _ deed: Recording.Deed) {
        let thread = Platform.threadNumber
        let isNewThread = state.withLock { state in
            guard !state.isStopped, isNoted(subject, &state) else { return false }
            if case .ended = deed {
                guard let open = state.open[thread], open > 0 else { return false }
                state.open[thread] = open - 1
            }
            guard state.contents.count < limit, subject.number != 0 else {
                state.contents.dropped += 1
                return false
            }
            if case .began = deed { state.open[thread, default: 0] += 1 }
            // What was there first has the lower number.
            if case .attached(let upstream) = deed, upstream.number != 0, isNoted(upstream, &state) {
                _ = number(of: upstream, &state)
            }
            let deferred = number(of: subject, &state)
            guard let action = action(deed, &state) else { return false }
            state.lastTime = nextTime(after: state.lastTime)
            add(Entry(time: state.lastTime, deferred: deferred, thread: thread, action: action), &state)
            return state.contents.threads[thread] == nil
        }
        guard isNewThread else { return }
        let name = Platform.currentThreadName
        state.withLock { $0.contents.threads[thread] = name }
    }

    /// Says what the failure of a Deferred was, whose firing has been noted.
    func describeFailure(of subject: Recording.Subject, _ text: String) {
        state.withLock { state in
            guard let number = state.numbers[subject.number] else { return }
            state.contents.failures[number] = text
        }
    }

    private func add(_ entry: Entry, _ state: inout State) {
        state.contents.count += 1
        if state.contents.pieces.last.map({ $0.count == Recorder.pieceSize }) ?? true {
            var piece: [Entry] = []
            piece.reserveCapacity(Recorder.pieceSize)
            state.contents.pieces.append(piece)
        }
        state.contents.pieces[state.contents.pieces.count - 1].append(entry)
    }

    private func number(of subject: Recording.Subject, _ state: inout State) -> Int32 {
        if let number = state.numbers[subject.number] { return number }
        let number = Int32(state.contents.known.count)
        state.contents.known.append(
            Known(origin: subject.made.origin, made: subject.made, hadFired: subject.hasFired))
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

    /// Nil if it is about another that is not noted, and says nothing without it.
    private func action(_ deed: Recording.Deed, _ state: inout State) -> DeferredRecording.Action? {
        func other(_ subject: Recording.Subject) -> Int? {
            guard subject.number != 0, isNoted(subject, &state) else { return nil }
            return Int(number(of: subject, &state)) + 1
        }
        switch deed {
        case .made: return .made
        case .attached(let upstream): return other(upstream).map { .attached(to: $0) } ?? .made
        case .waits(let inner): return other(inner).map { .waits(for: $0) }
        case .follows(let followed): return other(followed).map { .follows($0) }
        case .bypassed(let waiter): return other(waiter).map { .bypassed(by: $0) }
        case .began(let activity, let queue): return .began(activity, queue: queue)
        case .ended: return .ended
        case .dispatched(let name): return .dispatched(to: name)
        case .fired(let outcome): return .fired(outcome)
        case .paused: return .paused
        case .unpaused: return .unpaused
        }
    }
}
