package import Deferred

/// The events of one recording so far.
///
/// Every event has a time of its own, later than that of the event before it, so that the times alone give
/// the order.
package final class EventRecorder: Recording.Recorder {
    /// A Deferred that has occurred in the recording.
    struct Known {
        let made: DeferredDiagnostic.Location
        /// Whether it was settled when it first occurred.
        let wasSettled: Bool
        /// The place of the event in which it first occurred.
        let firstEvent: Int
    }

    /// Everything recorded.
    struct Contents {
        fileprivate(set) var events: [DeferredRecording.Event] = []
        fileprivate(set) var dropped = 0
        /// When the recording ended, after all events; nil while it is active,
        /// and in a copy when the copy was made.
        fileprivate(set) var end: Duration?
        /// By their number in this recording, the one with the number 1 first.
        fileprivate(set) var known: [Known] = []
        fileprivate(set) var threadNames: [Int: String] = [:]
    }

    private struct State {
        let limit: Int
        /// Modules and files; only Deferreds created there are recorded. Empty: all.
        let places: [String]
        let now: @Sendable () -> Duration
        var contents = Contents()
        /// The numbers in this recording, by those in the process.
        var numbers: [UInt32: Int] = [:]
        /// Whether Deferreds created in a file are recorded.
        var files: [UnsafePointer<UInt8>: Bool] = [:]
        /// The number of activities that started on a thread and have not ended. The end of an activity that
        /// started before the recording is not recorded.
        var open: [Int: Int] = [:]
        /// The places of the failures that have no description yet, by the Deferreds' numbers in the process.
        var undescribed: [UInt32: Int] = [:]

        var lastTime = Duration.zero
        var nextTime: Duration { max(lastTime + .nanoseconds(1), now()) }

        /// Records an event. Returns whether it is the first one on its thread.
        mutating func add(
            _ event: Recording.Event, of subject: Recording.Subject, on thread: Int
        ) -> Bool {
            guard contents.end == nil, isNoted(subject) else { return false }
            if event.kind == .ended {
                guard let open = open[thread], open > 0 else { return false }
                self.open[thread] = open - 1
            }
            guard contents.events.count < limit, subject.number != 0 else {
                contents.dropped += 1
                return false
            }
            if event.kind == .began { open[thread, default: 0] += 1 }
            var (event, other) = (event, event.other)
            if let subject = other, subject.number == 0 || !isNoted(subject) {
                // The other one is not recorded.
                guard event.kind == .attached else { return false }
                event.kind = .made
                other = nil
            }
            // The Deferred that existed first gets the lower number.
            if event.kind == .attached, let other { _ = number(of: other) }
            let deferred = number(of: subject)
            let action = DeferredRecording.Action(event, other: other.map { number(of: $0) })
            if event.outcome == .failure { undescribed[subject.number] = contents.events.count }
            lastTime = nextTime
            contents.events.append(
                DeferredRecording.Event(
                    time: lastTime, thread: thread, deferred: deferred, made: subject.made, action: action))
            return contents.threadNames[thread] == nil
        }

        private mutating func number(of subject: Recording.Subject) -> Int {
            if let number = numbers[subject.number] { return number }
            contents.known.append(
                Known(made: subject.made, wasSettled: subject.isSettled, firstEvent: contents.events.count))
            numbers[subject.number] = contents.known.count
            return contents.known.count
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

    private let state: SpinLocked<State>

    /// - Parameters:
    ///   - places: Modules and files; only Deferreds created there are recorded. Empty: all.
    ///   - now: Returns the time since the recording started.
    init(limit: Int, places: [String], now: @escaping @Sendable () -> Duration) {
        state = SpinLocked(State(limit: max(limit, 0), places: places, now: now))
    }

    func stop() {
        state.withLock { $0.contents.end = $0.contents.end ?? $0.nextTime }
    }

    /// A copy of everything recorded so far.
    var contents: Contents {
        state.withLock { state in
            var contents = state.contents
            contents.end = contents.end ?? state.nextTime
            return contents
        }
    }

    package func record(_ event: Recording.Event, of subject: Recording.Subject) {
        let thread = Int(Platform.threadNumber)
        guard state.withLock({ $0.add(event, of: subject, on: thread) }) else { return }
        let name = Platform.currentThreadName
        state.withLock { $0.contents.threadNames[thread] = name.isEmpty ? "thread \(thread)" : name }
    }

    /// Adds the description of a failure that was recorded.
    package func describeFailure(of subject: Recording.Subject, _ text: String) {
        state.withLock { state in
            guard let event = state.undescribed.removeValue(forKey: subject.number) else { return }
            state.contents.events[event].action.outcome = .failure(text)
        }
    }
}
