import Deferred
import DeferredTesting
import Interleaving

/// Timers on a manual clock, which one thread advances by one second at a time. A call may come when the time has come and
/// the timer is about to expire.
extension ObjectClass {
    /// Of two threads that cancel or stop, one does it, and the other does not wait for that.
    private static let steps = [
        "advance": ["move", "expire"], "cancel": ["beginCancel", "cancel"], "stop": ["beginStop", "stop"],
    ]

    static let idleTimer = ObjectClass(
        name: "idleTimer", calls: ["advance", "reset", "cancel"], exclusive: ["advance"], steps: steps,
        make: {
            let clock = ManualClock()
            let timer = IdleTimer(after: .seconds(2), timer: clock)
            return ObjectRun { call, _, _ in
                switch call {
                case "advance": clock.advance(by: .seconds(1))
                case "reset": timer.reset()
                default: timer.cancel()
                }
            } results: {
                clock.advance()
                return [show(timer.deferred.currentResult), "\(clock.scheduled.count)"]
            } end: {
                timer.cancel()
            }
        },
        specify: {
            var (now, due, end) = (0, 2, "pending")
            var canceller: Int?
            func expire() { if end == "pending", now >= due { end = "()" } }
            return ObjectRun { call, _, number in
                switch call {
                case "move": now += 1
                case "expire": expire()
                case "reset": due = now + 2
                case "beginCancel": canceller = canceller ?? number
                default: if end == "pending", canceller == number { end = "cancelled" }
                }
            } results: {
                expire()
                return [end, "\(end == "pending" ? 1 : 0)"]
            }
        })

    static let repeating = ObjectClass(
        name: "repeating", calls: ["advance", "reset", "stop", "cancel"], exclusive: ["advance"],
        steps: steps.merging(["advance": ["move", "expire", "endRun"], "reset": ["reset", "set"]]) { $1 },
        make: {
            let clock = ManualClock(), log = Log()
            let work = RepeatingWork(every: .seconds(2), timer: clock, startsNow: false) { log.add("run") }
            return ObjectRun { call, _, _ in
                switch call {
                case "advance": clock.advance(by: .seconds(1))
                case "reset": work.reset()
                case "stop": work.stop()
                default: work.cancel()
                }
            } results: {
                clock.advance()
                return [log.text, show(work.deferred.currentResult), "\(clock.scheduled.count)"]
            } end: {
                work.cancel()
            }
        },
        specify: {
            var (now, due, end) = (0, 2, "pending")
            var runs: [String] = []
            var (stopper, canceller): (Int?, Int?) = (nil, nil)
            // The timer has expired, and the run is about to begin, or the work to end.
            var (hasExpired, isRunning) = (false, false)
            // The calls that set the timer: after a stop it expires at once.
            var resetting: Set<Int> = []
            func expire() {
                guard end == "pending" else { return }
                if stopper != nil {
                    if hasExpired { end = "()" }
                } else if now >= due {
                    runs.append("run")
                    due = now + 2
                    isRunning = true
                }
                hasExpired = false
            }
            func endRun() {
                if isRunning, end == "pending", stopper != nil { end = "()" }
                isRunning = false
            }
            return ObjectRun { call, _, number in
                switch call {
                case "move":
                    now += 1
                    hasExpired = now >= due && stopper == nil
                case "expire": expire()
                case "endRun": endRun()
                case "reset":
                    due = now + 2
                    resetting.insert(number)
                case "set": resetting.remove(number)
                case "beginStop": stopper = stopper ?? number
                case "beginCancel": canceller = canceller ?? number
                case "stop":
                    guard end == "pending", stopper == number, !hasExpired, !isRunning else { return }
                    if resetting.isEmpty { end = "()" } else { hasExpired = true }
                default: if end == "pending", canceller == number { end = "cancelled" }
                }
            } results: {
                expire()
                endRun()
                return [runs.joined(separator: " "), end, "\(end == "pending" ? 1 : 0)"]
            }
        })

    static let manualClock = ObjectClass(
        name: "manualClock", calls: ["advance", "schedule", "scheduleLater", "cancel"],
        exclusive: ["advance"],
        make: {
            let clock = ManualClock(), log = Log()
            var work: [Int: any DelayedWork] = [:]
            return ObjectRun { call, thread, number in
                func schedule(_ seconds: Int) {
                    work[thread] = clock.dispatch(after: .seconds(seconds)) { log.add("\(number)") }
                }
                switch call {
                case "advance": clock.advance(by: .seconds(1))
                case "schedule": schedule(1)
                case "scheduleLater": schedule(2)
                default: work[thread]?.cancel()
                }
            } results: {
                [log.text] + clock.scheduled.map { "\($0)" }
            }
        },
        specify: {
            var now = 0
            var scheduled: [(number: Int, due: Int)] = []
            var last: [Int: Int] = [:]
            var runs: [String] = []
            return ObjectRun { call, thread, number in
                func schedule(_ seconds: Int) {
                    let place = scheduled.firstIndex { $0.due > now + seconds } ?? scheduled.endIndex
                    scheduled.insert((number, now + seconds), at: place)
                    last[thread] = number
                }
                switch call {
                case "advance":
                    now += 1
                    while let first = scheduled.first, first.due <= now {
                        runs.append("\(first.number)")
                        scheduled.removeFirst()
                    }
                case "schedule": schedule(1)
                case "scheduleLater": schedule(2)
                default: scheduled.removeAll { $0.number == last[thread] }
                }
            } results: {
                [runs.joined(separator: " ")] + scheduled.map { "\(Duration.seconds($0.due - now))" }
            }
        })
}
