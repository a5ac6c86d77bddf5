/// A report in words: for the lines on standard error, the waterfall and the summary.
extension Report {
    var timelineEnd: Timeline.End {
        switch end {
        case .fetched: .fetched
        case .skipped: .skipped
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    /// For the waterfall.
    var note: String {
        switch end {
        case .fetched:
            "\(Amount.bytes(byteCount)), \(Amount.span(duration))"
                + (attempts > 1 ? ", \(attempts) tries" : "")
        case .skipped: "there already"
        case .failed(let reason): reason
        case .cancelled(let reason): byteCount > 0 ? "\(reason), after \(Amount.bytes(byteCount))" : reason
        }
    }

    /// For standard error.
    func line(_ name: String) -> String {
        if end == .skipped { return "\(name.printable): there already" }
        let tries = attempts > 1 ? ", \(attempts) tries" : ""
        return "\(name.printable): \(Amount.bytes(byteCount)) in \(Amount.span(duration))\(tries)"
    }
}

extension ProgressState {
    /// `5 of 6 fetched, 12.3 MB in 2.1 s (5.9 MB/s); 1 failed`
    func summary(after time: Duration) -> String {
        var first = "\(fetched) of \(total) fetched, \(Amount.bytes(received)) in \(Amount.span(time))"
        if received > 0, time > .zero {
            first += " (\(Amount.rate(Double(received) / (time / .seconds(1)))))"
        }
        return others.isEmpty ? first : first + "; " + others
    }

    /// Those that have ended and were not fetched: `1 failed; 2 cancelled`.
    var others: String {
        [(skipped, "there already"), (failed, "failed"), (cancelled, "cancelled")]
            .filter { $0.0 > 0 }.map { "\($0) \($1)" }.joined(separator: "; ")
    }
}
