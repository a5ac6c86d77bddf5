import CInterleaving

#if canImport(Runtime)
import Runtime
#endif

/// Prints the steps of a schedule, each with the source lines that led to it.
enum Trace {
    static func print(_ schedule: String, of searched: any Searched) {
        prepare()
        var known: [String: String] = [:]
        SearchOptions.Mode.replay(schedule).begin(
            includesGlobals: searched.includesGlobals, stepped: { Trace.note() })
        if il_next() { searched.runOnce() }
        var lastThread: CInt?
        for index in 0..<il_step_count() {
            let thread = il_step_thread(index)
            if thread != lastThread { Swift.print("  thread \(thread)") }
            lastThread = thread
            let cell = il_step_cell(index)
            let subject = cell < 0 ? "" : "#\(cell)"
            let lines = lines(Int(index), &known)
            Swift.print(
                "  \(padded("\(index)", 5)) \(padded(kind(il_step_kind(index)), 6)) \(padded(subject, 5)) \(lines)"
            )
        }
    }

    private static func kind(_ kind: Int) -> String {
        switch kind {
        case IL_START: "start"
        case IL_READ: "read"
        case IL_WRITE: "write"
        case IL_LOCK: "lock"
        case IL_YIELD: "yield"
        default: "wait"
        }
    }

    #if canImport(Runtime)
    /// The stack at each step.
    ///
    /// Sound as `nonisolated(unsafe)`: written in a run, by one thread of it at a time, and read after it.
    nonisolated(unsafe) private static var stacks: [Backtrace] = []
    private static let images = ImageMap.capture()
    /// Files with what is on every stack.
    private static let hidden: Set = [
        "Atomic.swift", "DispatchSemaphore.swift", "Threads.swift", "SpinLock.swift", "Link+Word.swift",
        "Trace.swift", "Searched.swift", "Log.swift",
    ]

    /// Keeps the stack of the step that begins.
    private static func note() {
        guard #available(macOS 26, *),
            let stack = try? Backtrace.capture(algorithm: .fast, limit: 24, images: images)
        else { return }
        stacks.append(stack)
    }

    /// Returns the places in the source that led to a step, the innermost first.
    private static func lines(_ step: Int, _ known: inout [String: String]) -> String {
        guard #available(macOS 26, *), step < stacks.count else { return "" }
        let key = stacks[step].frames.map { "\($0.originalProgramCounter)" }.joined()
        if let text = known[key] { return text }
        var lines: [String] = []
        for frame in stacks[step].symbolicated(with: images)?.frames ?? [] {
            guard let location = frame.symbol?.sourceLocation, location.line > 0 else { continue }
            let file = location.path.split(separator: "/").last.map(String.init) ?? location.path
            if !file.hasSuffix(".swift") || hidden.contains(file) { continue }
            let line = "\(file):\(location.line)"
            if lines.last != line { lines.append(line) }
        }
        let text = lines.prefix(4).joined(separator: " < ")
        known[key] = text
        return text
    }

    private static func prepare() {
        stacks = []
        _ = images
    }
    #else
    private static func prepare() {}
    private static func note() {}
    private static func lines(_ step: Int, _ known: inout [String: String]) -> String { "" }
    #endif
}

/// Fills a text up to `width` characters.
public func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}
