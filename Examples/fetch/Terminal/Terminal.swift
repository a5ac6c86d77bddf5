import Foundation

/// The terminal that a stream is connected to, if it is one.
struct Terminal: Sendable {
    /// Whether bars can be drawn: it is a terminal that can move its cursor.
    let canDraw: Bool
    let style: TerminalStyle

    init(_ stream: OutputDescriptor, environment: [String: String] = ProcessInfo.processInfo.environment) {
        let name = environment["TERM"] ?? ""
        canDraw = isatty(stream.descriptor) == 1 && !name.isEmpty && name != "dumb"
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        style = TerminalStyle(
            usesColour: canDraw && (environment["NO_COLOR"] ?? "").isEmpty,
            usesUnicode: locale.lowercased().contains(/utf-?8/))
    }

    /// How to show progress there.
    var manner: Display.Manner { canDraw ? .bars(style) : .lines }

    /// The current columns and rows, which may change while a program runs.
    static func size(of stream: OutputDescriptor) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(stream.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
