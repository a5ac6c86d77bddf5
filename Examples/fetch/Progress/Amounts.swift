import Foundation

/// Bytes, rates and times in a readable form.
enum Amount {
    /// `0 B`, `999 B`, `1.5 kB`, `12.3 MB`: at most 8 columns.
    static func bytes(_ count: Int64) -> String { scaled(Double(count), between: " ", "B") }

    /// `12.3 MB/s`, at most 10 columns.
    static func rate(_ perSecond: Double) -> String { scaled(perSecond, between: " ", "B/s") }

    /// `12.3M`, at most 5 columns.
    static func shortBytes(_ count: Int64) -> String { scaled(Double(count), between: "", "") }

    /// `12.3M/s`, at most 7 columns.
    static func shortRate(_ perSecond: Double) -> String { scaled(perSecond, between: "", "/s") }

    /// `0:05`, `12:34`, `5h12`, `3d04`, at most 5 columns until the hundredth day.
    static func timeLeft(_ seconds: Double) -> String {
        guard seconds < 8_640_000 else { return "-" }
        let whole = Int(seconds.rounded(.up))
        let (larger, smaller, separator) =
            switch whole {
            case ..<3600: (whole / 60, whole % 60, ":")
            case ..<86400: (whole / 3600, whole / 60 % 60, "h")
            default: (whole / 86400, whole / 3600 % 24, "d")
            }
        return "\(larger)\(separator)\(smaller < 10 ? "0" : "")\(smaller)"
    }

    /// `0.04 s`, `0.5 s`, `1.5 s`, `2 s`, `23 s`, `2 min 5 s`.
    static func span(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return switch seconds {
        case ..<0.095: "\((seconds * 1000).rounded() / 1000) s"
        case ..<0.95: "\((seconds * 100).rounded() / 100) s"
        case ..<9.95 where (seconds * 10).rounded().truncatingRemainder(dividingBy: 10) != 0:
            "\((seconds * 10).rounded() / 10) s"
        case ..<119.5: "\(Int(seconds.rounded())) s"
        default: "\(Int(seconds.rounded()) / 60) min \(Int(seconds.rounded()) % 60) s"
        }
    }

    /// The time until something happens, in whole seconds.
    static func wait(_ duration: Duration) -> String {
        span(.seconds(max(0, duration / .seconds(1)).rounded(.up)))
    }

    private static func scaled(_ amount: Double, between space: String, _ unit: String) -> String {
        guard amount >= 999.5 else { return String(format: "%.0f", amount) + space + unit }
        var amount = amount / 1000
        var prefixes = "kMGTPE"[...]
        while amount >= 999.5, prefixes.count > 1 {
            amount /= 1000
            prefixes.removeFirst()
        }
        // Three digits at most, so that columns do not move.
        let digits = amount < 99.95 ? String(format: "%.1f", amount) : String(format: "%.0f", amount)
        return digits + space + String(prefixes.first ?? "E") + unit
    }
}
