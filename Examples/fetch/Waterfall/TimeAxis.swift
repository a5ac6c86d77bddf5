import Foundation

/// Ticks at round times.
struct TimeAxis {
    let span: Double
    let step: Double

    /// Creates an axis over so many seconds with about `count` ticks.
    init(seconds: Double, steps count: Int) {
        span = max(seconds, 0.001)
        let rough = span / Double(count)
        let magnitude = pow(10, floor(log10(rough)))
        let candidates =
            rough > 30
            ? [30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400]
            : [1, 2, 5, 10].map { $0 * magnitude }
        step = candidates.first { $0 >= rough * 0.999 } ?? candidates[candidates.count - 1]
    }

    var ticks: [Double] {
        (0...Int(span / step)).map { Double($0) * step }
    }

    /// `0`, `0.25 s`, `150 ms`, `5 min`.
    func label(_ tick: Double) -> String {
        if tick == 0 { return "0" }
        switch step {
        case ..<0.1 where span < 1: return Self.trimmed(tick * 1000) + " ms"
        case ..<30: return Self.trimmed(tick) + " s"
        default:
            let whole = Int(tick)
            if whole >= 3600 {
                return "\(whole / 3600):\(whole / 60 % 60 < 10 ? "0" : "")\(whole / 60 % 60) h"
            }
            return whole % 60 == 0 ? "\(whole / 60) min" : "\(whole / 60):\(whole % 60) min"
        }
    }

    private static func trimmed(_ number: Double) -> String {
        var text = String(format: "%.3f", number)
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }
}
