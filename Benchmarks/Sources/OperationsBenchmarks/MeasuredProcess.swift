import Foundation

/// A running program, and the time and memory that it used.
struct MeasuredProcess: Sendable {
    /// The cost of a run.
    struct Cost: Sendable {
        /// From start to exit, in seconds.
        let elapsed: Double
        /// Processor time, in seconds.
        let processor: Double
        /// The highest resident memory, in bytes.
        let memory: Int
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let identifier: pid_t
    private let name: String
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - output: The descriptor for its standard output; nil to share that of this process.
    ///   - isMuted: Whether its standard error is discarded.
    init(_ path: String, _ arguments: [String], output: CInt? = nil, isMuted: Bool = false) throws {
        name = URL(fileURLWithPath: path).lastPathComponent
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        #if canImport(Darwin)
        var files: posix_spawn_file_actions_t?
        #else
        var files = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        if isMuted { posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) }
        if let output { posix_spawn_file_actions_adddup2(&files, output, 1) }
        var spawned: pid_t = 0
        let code = posix_spawn(&spawned, path, &files, nil, words, environ)
        guard code == 0 else {
            throw Failure(description: "\(path) cannot be started: \(String(cString: strerror(code)))")
        }
        identifier = spawned
    }

    /// Waits until it exits, which must be with status 0.
    func cost() throws -> Cost {
        var status: CInt = 0
        var usage = rusage()
        var memory = 0
        #if os(Linux)
        // On Linux, the maximum that `wait4` reports includes that of the process that started the program,
        // so it is read from /proc while the program runs. It only grows; only growth in the last moments is
        // missed.
        while wait4(identifier, &status, WNOHANG, &usage) == 0 {
            memory = max(memory, Self.peakMemory(of: identifier))
            usleep(2000)
        }
        #else
        while wait4(identifier, &status, 0, &usage) < 0, errno == EINTR {}
        memory = usage.ru_maxrss
        #endif
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        guard status == 0 else { throw Failure(description: "\(name) failed, with wait status \(status)") }
        let processor = [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
        return Cost(elapsed: elapsed, processor: processor, memory: memory)
    }

    private static func peakMemory(of process: pid_t) -> Int {
        let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line.flatMap { Int($0.split(whereSeparator: \.isWhitespace)[1]) } ?? 0) * 1024
    }

    /// Ends the program and waits until it has exited.
    func end() {
        kill(identifier, SIGTERM)
        while waitpid(identifier, nil, 0) < 0, errno == EINTR {}
    }
}
