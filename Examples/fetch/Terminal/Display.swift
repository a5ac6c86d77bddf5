import Deferred
import Dispatch
import Foundation

/// Writes to standard error and standard output, which may share a terminal: bars at the bottom, and lines
/// above them that stay.
///
/// Sound as `@unchecked Sendable`: the variables are accessed only on `queue`, which is serial.
final class Display: @unchecked Sendable {
    /// How progress is shown.
    enum Manner: Sendable {
        case bars(TerminalStyle)
        /// A line for each event.
        case lines
        /// Only errors.
        case errors
    }

    let manner: Manner
    /// Resolved when writing to standard output has failed.
    let brokenOutput = Deferred<OutputDescriptor.Failure>()
    private let queue = DispatchQueue(label: "fetch.display")
    private let errors = OutputDescriptor.standardError
    private var liveLines = LiveLines()
    private var timer: (any DispatchSourceTimer)?
    private var render: (@Sendable (_ columns: Int, _ rows: Int) -> [String])?

    init(_ manner: Manner) { self.manner = manner }

    /// Starts drawing bars, if that is this display's manner. Calls `render` ten times a second, on its
    /// queue.
    func show(_ render: @escaping @Sendable (_ columns: Int, _ rows: Int) -> [String]) {
        guard case .bars = manner else { return }
        queue.sync {
            self.render = render
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now() + .milliseconds(50), repeating: .milliseconds(100))
            timer.setEventHandler { [weak self] in self?.redraw() }
            timer.activate()
            self.timer = timer
        }
    }

    /// Removes the bars and writes a last line. When it returns, everything has been written.
    func finish(saying line: String? = nil) {
        // Waits for pending output, whose errors are reported before the last line.
        queue.sync {}
        if let line { say(line) }
        queue.sync {
            timer?.cancel()
            timer = nil
            render = nil
            redraw()
        }
    }

    /// Writes a line about progress, unless only errors are shown.
    func say(_ line: @autoclosure () -> String) {
        if case .errors = manner { return }
        write(line())
    }

    /// Writes a line about an error.
    func complain(_ line: String) {
        write(line)
    }

    /// Writes a line to standard output, which may be the same terminal.
    func output(_ line: String) {
        queue.async { [self] in
            guard brokenOutput.currentResult == nil else { return }
            if liveLines.isShown { try? errors.write(liveLines.redraw([], columns: columns)) }
            do throws(OutputDescriptor.Failure) {
                try OutputDescriptor.standardOutput.write(line + "\n")
            } catch {
                brokenOutput.resolve(error)
            }
        }
    }

    private var columns: Int { Terminal.size(of: errors).columns }

    // Errors are ignored: without standard error there is nowhere to report them, and downloads continue.
    private func write(_ line: String) {
        queue.async { [self] in
            guard liveLines.isShown else {
                try? errors.write(line + "\n")
                return
            }
            redraw(above: line + "\n")
        }
    }

    private func redraw(above: String = "") {
        let (columns, rows) = Terminal.size(of: errors)
        let text = liveLines.redraw(render?(columns, rows) ?? [], above: above, columns: columns)
        if !text.isEmpty { try? errors.write(text) }
    }
}
