internal import Foundation

/// Reads and writes dates in the format of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static func makeFormatter() -> DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter
    }

    /// Returns the date as a header has it.
    static func text(_ date: Date) -> String {
        makeFormatter().string(from: date)
    }

    /// Returns the date that a header has; nil if it is none.
    static func date(_ text: String) -> Date? {
        makeFormatter().date(from: text)
    }

    /// Returns the time from `now` that a `Retry-After` header names, as a number of seconds or as a date.
    static func delay(_ text: String, from now: Date) -> Duration? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if let seconds = Int(text) { return seconds < 0 ? nil : .seconds(seconds) }
        guard let date = date(text) else { return nil }
        return .seconds(max(0, date.timeIntervalSince(now).rounded(.up)))
    }
}
