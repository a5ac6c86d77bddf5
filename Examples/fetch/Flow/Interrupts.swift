import Foundation

/// Ctrl-C and its like. The first ends the program while nothing is under way that has to be taken back, as
/// when URLs are read; later it is told to a handler. The second kills, as it would have without this.
///
/// The signals are blocked from the program's start, and a thread waits for them: so none is lost, however
/// soon it comes, and there is no code that a signal interrupts. To have the second one kill, that thread no
/// longer blocks them.
final class Interrupts: Sendable {
    private static let numbers = [SIGINT, SIGTERM, SIGHUP]

    private let first = First()

    /// Sound as `@unchecked Sendable`: the variables are touched only with `lock` held.
    private final class First: @unchecked Sendable {
        private let lock = NSLock()
        private var value: CInt?
        private var handler: (@Sendable () -> Void)?
        var number: CInt? { lock.withLock { value } }

        func handle(_ handler: @escaping @Sendable () -> Void) { lock.withLock { self.handler = handler } }

        /// Gives the handler, if there is one by now.
        func receive(_ number: CInt) -> (@Sendable () -> Void)? {
            lock.withLock {
                value = number
                return handler
            }
        }
    }

    /// Keeps the signals waiting until there is an `Interrupts`; to be called before the program has other
    /// threads.
    static func hold() {
        var held = set(numbers)
        pthread_sigmask(SIG_BLOCK, &held, nil)
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
            pthread_sigmask(SIG_UNBLOCK, &awaited, nil)
            guard let handler else {
                try? OutputStream.standardError.write("fetch: interrupted while reading URLs\n")
                exit(128 + number)
            }
            handler()
            while true { pause() }
        }
    }

    /// From now on the first signal does not end the program.
    ///
    /// - Parameter onFirst: Called once, on a thread of its own.
    func handle(_ onFirst: @escaping @Sendable () -> Void) { first.handle(onFirst) }

    /// The signal that came, if one has.
    var received: CInt? { first.number }

    /// Whether it is to be ignored: who started this so (`nohup`, a job of a shell script) wants it to stay
    /// so.
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

    /// What a handler is compared by. Sound: a pointer to a C function, also where it is missing, is a
    /// pointer's size of bits.
    private static func address(of handler: (@convention(c) (CInt) -> Void)?) -> Int {
        unsafeBitCast(handler, to: Int.self)
    }
}
