import Foundation

/// Time that passes only as fast as this process, with the programs that it has started, is given processors.
///
/// A second in which all of their threads waited, or those that wanted a processor had one, is a second. One in which
/// other programs had nine tenths of what these threads wanted is a tenth.
struct GrantedTime {
    /// What a thread has run, and what it has waited for a processor, in nanoseconds.
    private struct Share {
        var ran = 0.0
        var waited = 0.0
    }

    private let processors = Double(ProcessInfo.processInfo.activeProcessorCount)
    private var instant = ContinuousClock.now
    private var shares = Self.shares()

    /// Returns the seconds that were granted since the last call, or since this value was created.
    mutating func advance() -> Double {
        let (now, new) = (ContinuousClock.now, Self.shares())
        defer { (instant, shares) = (now, new) }
        let seconds = (now - instant) / .seconds(1)
        var (ran, waited) = (0.0, 0.0)
        for (thread, share) in new {
            ran += share.ran - (shares[thread]?.ran ?? 0)
            waited += share.waited - (shares[thread]?.waited ?? 0)
        }
        // More threads than there are processors wait for one another: that is their own affair.
        let wanted = min((ran + waited) / 1e9, seconds * processors)
        return wanted > seconds / 100 ? seconds * min(1, ran / 1e9 / wanted) : seconds
    }

    #if os(Linux)
    /// The shares of all threads of this process and of those that it has started, from `/proc`.
    private static func shares() -> [String: Share] {
        var shares: [String: Share] = [:]
        var processes = ["self"]
        while let process = processes.popLast() {
            let folder = "/proc/\(process)/task"
            for thread in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                let numbers = words(of: "\(folder)/\(thread)/schedstat").compactMap(Double.init)
                // A thread that has just ended has none.
                if numbers.count == 3 { shares[thread] = Share(ran: numbers[0], waited: numbers[1]) }
                processes += words(of: "\(folder)/\(thread)/children")
            }
        }
        return shares
    }

    private static func words(of path: String) -> [String] {
        (try? String(contentsOfFile: path, encoding: .utf8))?.split(whereSeparator: \.isWhitespace).map(
            String.init)
            ?? []
    }
    #else
    /// Nothing: elsewhere all time counts.
    private static func shares() -> [String: Share] { [:] }
    #endif
}
