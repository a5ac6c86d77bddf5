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
        let event: Recording.Event
        /// The other Deferred's number, where there is one.
        let other: Int?
    }

    /// A Deferred that has occurred in the recording.
    struct Known {
        let made: DeferredDiagnostic.Location
        /// Whether it was settled when it first occurred.
        let hadFired: Bool
    }

    /// A copy of everything recorded, for reading.
    struct Contents {
        fileprivate(set) var entries: [Entry] = []
        fileprivate(set) var dropped = 0
        /// When the recording ended, or now if it is active; after all events.
        fileprivate(set) var end: UInt64 = 0
        /// By their number in this recording, the first at 0.
        fileprivate(set) var known: [Known] = []
        /// What the failures were, by the number of the Deferred.
        fileprivate(set) var failures: [Int32: String] = [:]
        fileprivate var threads: [UInt32: String] = [:]

        var threadNames: [Int: String] {
            Dictionary(
                uniqueKeysWithValues: threads.map { number, name in
                    (Int(number), name.isEmpty ? "thread \(number)" : name)
                })
        }
    }

    private struct State {
        let limit: Int
        /// Modules and files; only Deferreds created there are recorded. Empty: all.
        let places: [String]
        var contents = Contents()
        var numbers: [UInt32: Int32] = [:]
        /// Whether Deferreds created in a file are recorded.
        var files: [UnsafePointer<UInt8>: Bool] = [:]
        /// The number of activities that started on a thread and have not ended. The end of an activity that
        /// started before the recording is not recorded.
        var open: [UInt32: Int] = [:]
        var lastTime: UInt64 = 0
        var isStopped = false

        /// Records an event. Returns whether it is the first one on its thread.
        mutating func add(
            _ event: Recording.Event, of subject: Recording.Subject, on thread: UInt32,
            at time: (_ last: UInt64) -> UInt64
        ) -> Bool {
            guard !isStopped, isNoted(subject) else { return false }
            if event.kind == .ended {
                guard let open = open[thread], open > 0 else { return false }
                self.open[thread] = open - 1
            }
            guard contents.entries.count < limit, subject.number != 0 else {
                contents.dropped += 1
                return false
            }
            if event.kind == .began { open[thread, default: 0] += 1 }
            var event = event
            // The Deferred that existed first gets the lower number.
            let upstream = event.kind == .attached ? number(ofOther: event.other) : nil
            let deferred = number(of: subject)
            let other = upstream ?? number(ofOther: event.other)
            if event.other != nil && other == nil {
                // The other one is not recorded.
                guard event.kind == .attached else { return false }
                event.kind = .made
            }
            lastTime = time(lastTime)
            contents.entries.append(
                Entry(time: lastTime, deferred: deferred, thread: thread, event: event, other: other))
            return contents.threads[thread] == nil
        }

        private mutating func number(ofOther subject: Recording.Subject?) -> Int? {
            guard let subject, subject.number != 0, isNoted(subject) else { return nil }
            return Int(number(of: subject)) + 1
        }

        private mutating func number(of subject: Recording.Subject) -> Int32 {
            if let number = numbers[subject.number] { return number }
            let number = Int32(contents.known.count)
            contents.known.append(Known(made: subject.made, hadFired: subject.isSettled))
            numbers[subject.number] = number
            return number
        }

        private mutating func isNoted(_ subject: Recording.Subject) -> Bool {
            if places.isEmpty { return true }
            if let isNoted = files[subject.made.file] { return isNoted }
            let fileID = subject.made.fileID
            let isNoted = places.contains { $0 == fileID || fileID.hasPrefix($0 + "/") }
            files[subject.made.file] = isNoted
            return isNoted
        }
    }

    private let now: @Sendable () -> UInt64
    private let start: UInt64
    private let state: SpinLocked<State>

    /// - Parameters:
    ///   - places: Modules and files; only Deferreds created there are recorded. Empty: all.
    ///   - now: Returns nanoseconds since a fixed moment.
    init(limit: Int, places: [String], now: @escaping @Sendable () -> UInt64) {
        self.now = now
        start = now()
        state = SpinLocked(State(limit: max(limit, 0), places: places))
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
        let isNewThread = state.withLock { $0.add(event, of: subject, on: thread, at: nextTime) }
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
}
