import Foundation

/// Ctrl-C and similar signals. Before a handler is set, while URLs are read, the first signal ends the
/// program at once. After that, the first one calls the handler. The second one kills the program, as signals do by
/// default.
///
/// The signals are blocked from the start of the program, and a thread waits for them. Therefore none is
/// lost, however early it arrives, and no code is interrupted. After the first signal, that thread unblocks
/// them, so that the second one kills; but the same signal again within half a second is still the first:
/// timeout(1) sends its signal to the program and to the group that the program is in.
final class Interrupts: Sendable {
    private static let numbers = [SIGINT, SIGTERM, SIGHUP]

    /// How long the same signal again is still the first. `FETCH_REPEAT_SECONDS` in the environment sets it, so
    /// that a test does not depend on how fast a machine is.
    private static let repeatSeconds =
        ProcessInfo.processInfo.environment["FETCH_REPEAT_SECONDS"].flatMap(Double.init) ?? 0.5

    private let first = FirstSignal()

    /// Sound as `@unchecked Sendable`: the variables are accessed only under `lock`.
    private final class FirstSignal: @unchecked Sendable {
        private let lock = NSLock()
        private var value: CInt?
        private var handler: (@Sendable () -> Void)?
        var number: CInt? { lock.withLock { value } }

        /// Sets the handler. Returns false if a signal came first, and ends the program.
        func handle(_ handler: @escaping @Sendable () -> Void) -> Bool {
            lock.withLock {
                if value != nil { return false }
                self.handler = handler
                return true
            }
        }

        /// Stores the signal, and returns the handler, if there is one yet.
        func receive(_ number: CInt) -> (@Sendable () -> Void)? {
            lock.withLock {
                value = number
                return handler
            }
        }
    }

    /// Blocks the signals until an `Interrupts` is created. Call this before the program has other threads.
    static func block() {
        var blocked = set(numbers)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
    }

    init() {
        Thread.detachNewThread { [first] in
            let numbers = Self.numbers.filter { !Self.isIgnored($0) }
            guard !numbers.isEmpty else { return }
            var awaited = Self.set(numbers)
            pthread_sigmask(SIG_BLOCK, &awaited, nil)
            var number: CInt = 0
            while sigwait(&awaited, &number) != 0 {}
            let handler = first.receive(number)
            OutputDescriptor.stopWaiting(after: .seconds(2 * Self.repeatSeconds))
            sigdelset(&awaited, number)
            pthread_sigmask(SIG_UNBLOCK, &awaited, nil)
            guard let handler else {
                try? OutputDescriptor.standardError.write("fetch: interrupted before anything was fetched\n")
                // Not `exit`: what libraries do at the end of the program must not run beside threads that begin to use
                // them.
                _exit(128 + number)
            }
            handler()
            Thread.sleep(forTimeInterval: Self.repeatSeconds)
            var repeated = Self.set([number])
            var waiting = sigset_t()
            if sigpending(&waiting) == 0, sigismember(&waiting, number) == 1 { sigwait(&repeated, &number) }
            pthread_sigmask(SIG_UNBLOCK, &repeated, nil)
            while true { pause() }
        }
    }

    /// Sets the handler: from now on the first signal does not end the program.
    ///
    /// - Parameter onFirst: Called once, on a thread of its own.
    func handle(_ onFirst: @escaping @Sendable () -> Void) {
        // A signal that came first is about to end the program: nothing is begun any more.
        if !first.handle(onFirst) { while true { pause() } }
    }

    /// The signal that was received, if any.
    var received: CInt? { first.number }

    /// Whether the signal is ignored: a parent process that set this (`nohup`, a job of a shell script)
    /// wants it to stay ignored.
    private static func isIgnored(_ number: CInt) -> Bool {
        let handler = signal(number, SIG_DFL)
        guard address(of: handler) == address(of: SIG_IGN) else { return false }
        signal(number, SIG_IGN)
        return true
    }

    private static func set(_ numbers: [CInt]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }

    /// The address of a handler, for comparisons. Sound: an optional C function pointer has the size and
    /// the bits of a pointer.
    private static func address(of handler: (@convention(c) (CInt) -> Void)?) -> Int {
        unsafeBitCast(handler, to: Int.self)
    }
}
