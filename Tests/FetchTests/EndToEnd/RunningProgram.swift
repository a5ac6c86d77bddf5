import Foundation
import LoopbackServer

/// A running program, its output, and its end.
final class RunningProgram: Sendable {
    /// What the program's output is connected to.
    enum Sink: Sendable {
        /// A pipe whose contents are kept.
        case kept
        /// A pipe whose other end is closed already.
        case closedPipe
        /// A pipe that is not read, and fills up.
        case unreadPipe
        /// A terminal whose contents are kept.
        case terminal(PseudoTerminal)
    }

    /// The state so far.
    struct Progress: Sendable {
        var output = Data()
        var errors = Data()
        /// Whether all of its input has been written to the pipe.
        var isFed = false
        /// The number of output streams that have not ended.
        var openStreams = 0
        /// The status from `waitpid`.
        var waitStatus: Int32?

        var outcome: FetchProgram.Outcome? {
            guard openStreams == 0, let waitStatus else { return nil }
            let signal = waitStatus & 0x7F
            return FetchProgram.Outcome(
                status: signal == 0 ? (waitStatus >> 8) & 0xFF : signal, wasKilled: signal != 0,
                output: output,
                errors: String(decoding: errors, as: UTF8.self))
        }
    }

    let identifier: pid_t
    private let progress = Watched(Progress())

    init(
        _ program: URL, _ arguments: [String], in folder: URL, input: String? = nil,
        keepsInputOpen: Bool = false,
        output: Sink = .kept, errors: Sink = .kept, environment: [String: String], preparation: String
    ) throws {
        let inputEnds = try Self.pipeEnds()
        let (outputSource, outputTarget) = try Self.open(output)
        let (errorSource, errorTarget) = try Self.open(errors)
        var files: posix_spawn_file_actions_t = .init()
        posix_spawn_file_actions_init(&files)
        posix_spawn_file_actions_adddup2(&files, inputEnds.reading, 0)
        posix_spawn_file_actions_adddup2(&files, outputTarget, 1)
        posix_spawn_file_actions_adddup2(&files, errorTarget, 2)
        // The program must not inherit sockets and gates of a server in this process, and keep them open.
        #if !canImport(Darwin)
        for descriptor in 3..<Int32(min(4096, sysconf(Int32(_SC_OPEN_MAX)))) {
            posix_spawn_file_actions_addclose(&files, descriptor)
        }
        #endif
        var attributes: posix_spawnattr_t = .init()
        posix_spawnattr_init(&attributes)
        // As from a shell, however the test runner has set signals.
        var defaults = sigset_t()
        sigfillset(&defaults)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        var blocked = sigset_t()
        sigemptyset(&blocked)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        #if canImport(Darwin)
        flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
        #endif
        posix_spawnattr_setflags(&attributes, Int16(flags))
        defer {
            posix_spawn_file_actions_destroy(&files)
            posix_spawnattr_destroy(&attributes)
            for descriptor in [inputEnds.reading, outputTarget, errorTarget] { close(descriptor) }
        }

        var spawned: pid_t = 0
        // A shell changes the folder, and then becomes the program.
        let shell = ["/bin/sh", "-c", "cd \"$0\" && \(preparation) && exec \"$@\"", folder.path]
        let words = Self.cStrings(shell + [program.path] + arguments)
        let variables = Self.cStrings(environment.map { "\($0)=\($1)" })
        defer { (words + variables).forEach { free($0) } }
        let code = posix_spawn(&spawned, shell[0], &files, &attributes, words, variables)
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
        identifier = spawned

        feed(input ?? "", to: inputEnds.writing, keepsOpen: keepsInputOpen)
        progress.update { $0.openStreams = [outputSource, errorSource].count { $0 != nil } }
        if let outputSource { read(outputSource) { $0.output += $1 } }
        if let errorSource { read(errorSource) { $0.errors += $1 } }
        Thread.detachNewThread { [progress, identifier] in
            var status: Int32 = 0
            while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
            progress.update { [status] in $0.waitStatus = status }
        }
    }

    func send(_ signal: Int32) { kill(identifier, signal) }

    /// The outcome, after the program's end.
    var outcome: FetchProgram.Outcome {
        get async {
            await wait { $0.outcome != nil }
            // A test that takes too long does not wait for the end.
            return progress.value.outcome
                ?? .init(status: SIGKILL, wasKilled: true, output: Data(), errors: "")
        }
    }

    /// Waits until standard error contains `text`, or the program has ended.
    func waitForErrors(containing text: String) async {
        await wait { String(decoding: $0.errors, as: UTF8.self).contains(text) }
    }

    /// Waits until `isSatisfied` returns true, or the program has ended. A test that takes too long ends
    /// the program.
    func wait(until isSatisfied: @escaping @Sendable (Progress) -> Bool) async {
        await withTaskCancellationHandler {
            await progress.wait { isSatisfied($0) || $0.outcome != nil }
        } onCancel: {
            send(SIGKILL)
        }
    }

    private func read(_ descriptor: Int32, _ take: @escaping @Sendable (inout Progress, Data) -> Void) {
        Thread.detachNewThread { [progress] in
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = Foundation.read(descriptor, &buffer, buffer.count)
                if count > 0 {
                    progress.update { take(&$0, Data(buffer[..<count])) }
                } else if count == 0 || errno != EINTR {
                    // A terminal whose other end is closed returns EIO.
                    break
                }
            }
            close(descriptor)
            progress.update { $0.openStreams -= 1 }
        }
    }

    private func feed(_ input: String, to descriptor: Int32, keepsOpen: Bool) {
        Thread.detachNewThread { [progress] in
            var rest = Array(input.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
            if !keepsOpen { close(descriptor) }
            progress.update { $0.isFed = true }
        }
    }

    /// Returns the descriptor to read from, if any, and the one for the program to write to.
    private static func open(_ sink: Sink) throws -> (source: Int32?, target: Int32) {
        switch sink {
        case .kept:
            let ends = try pipeEnds()
            return (ends.reading, ends.writing)
        case .closedPipe:
            let ends = try pipeEnds()
            close(ends.reading)
            return (nil, ends.writing)
        case .unreadPipe:
            // The reading end is never closed; tests create only a few.
            return (nil, try pipeEnds().writing)
        case .terminal(let terminal):
            return (dup(terminal.master), try terminal.opened())
        }
    }

    /// Creates a pipe. Both ends are closed in child processes, so that the end of the data is noticed.
    private static func pipeEnds() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }
}
