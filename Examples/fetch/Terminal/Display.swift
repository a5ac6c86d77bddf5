import Deferred
import Dispatch
import Foundation

/// Standard error, and what shares the screen with it: bars that move below lines that stay.
///
/// Sound as `@unchecked Sendable`: what changes is touched only on `queue`, which is serial.
final class Display: @unchecked Sendable {
    /// What is shown of how things go.
    enum Manner: Sendable {
        case bars(TerminalStyle)
        /// A line for each thing that happens.
        case lines
        /// Errors alone.
        case errors
    }

    let manner: Manner
    /// Fires when standard output can't be written to.
    let brokenOutput = Deferred<OutputStream.Failure>()
    private let queue = DispatchQueue(label: "fetch.display")
    private let errors = OutputStream.standardError
    private var frame = Frame()
    private var timer: (any DispatchSourceTimer)?
    private var render: (@Sendable (_ columns: Int, _ rows: Int) -> [String])?

    init(_ manner: Manner) { self.manner = manner }

    /// From now on shows bars, if it is to: `render` is asked ten times a second, on this display's queue.
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

    /// Takes the bars away, says a last line, and has written everything when it returns.
    func finish(saying line: String? = nil) {
        // What could not be output has something said about it by then, before the last line.
        queue.sync {}
        if let line { say(line) }
        queue.sync {
            timer?.cancel()
            timer = nil
            render = nil
            redraw()
        }
    }

    /// A line on how things go, which is not written if only errors are.
    func say(_ line: @autoclosure () -> String) {
        if case .errors = manner { return }
        write(line())
    }

    /// A line on something that went wrong.
    func complain(_ line: String) {
        write(line)
    }

    /// A line for standard output, which may be the same terminal.
    func output(_ line: String) {
        queue.async { [self] in
            guard brokenOutput.currentResult == nil else { return }
            if frame.isShown { try? errors.write(frame.redraw([], columns: columns)) }
            do throws(OutputStream.Failure) {
                try OutputStream.standardOutput.write(line + "\n")
            } catch {
                brokenOutput.resolve(error)
            }
        }
    }

    private var columns: Int { Terminal.size(of: errors).columns }

    // Whoever closed standard error does not want to be told; the transfers go on.
    private func write(_ line: String) {
        queue.async { [self] in
            guard frame.isShown else {
                try? errors.write(line + "\n")
                return
            }
            redraw(above: line + "\n")
        }
    }

    private func redraw(above: String = "") {
        let (columns, rows) = Terminal.size(of: errors)
        let text = frame.redraw(render?(columns, rows) ?? [], above: above, columns: columns)
        if !text.isEmpty { try? errors.write(text) }
    }
}
