import Dispatch
import Foundation

/// Ctrl-C and its like. The first is told to a handler; the second kills, as it would have without this.
///
/// From the moment that there is one of these no signal is lost, however soon it comes: what the system calls puts the
/// signal's number into a pipe. A dispatch source for signals begins to listen only some time after it was asked to.
final class Interrupts: Sendable {
    private let queue = DispatchQueue(label: "fetch.interrupts")
    private let first = First()

    /// Sound as `@unchecked Sendable`: it is touched only on the queue, which is serial.
    private final class First: @unchecked Sendable {
        var number: CInt?
        var listener: (any DispatchSourceRead)?
    }

    /// - Parameter onFirst: Called once, on a queue of its own.
    init(_ onFirst: @escaping @Sendable () -> Void) {
        var ends: [CInt] = [-1, -1]
        // Without a pipe there is no handler, and the first signal kills.
        guard pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let reading = ends[0]
        interruptPipe = ends[1]
        let numbers = [SIGINT, SIGTERM, SIGHUP].filter(Self.handle)
        queue.sync {
            let listener = DispatchSource.makeReadSource(fileDescriptor: reading, queue: queue)
            listener.setEventHandler { [first] in
                var number: UInt8 = 0
                guard read(reading, &number, 1) == 1, first.number == nil else { return }
                first.number = CInt(number)
                for number in numbers { signal(number, SIG_DFL) }
                onFirst()
            }
            listener.activate()
            first.listener = listener
        }
    }

    /// The signal that came, if one has.
    var received: CInt? { queue.sync { first.number } }

    /// Has a signal noted, unless it is ignored: who started this so (`nohup`, a job of a shell script) wants it to stay so.
    private static func handle(_ number: CInt) -> Bool {
        let previous = signal(number) { number in
            // Only what is allowed in a signal's handler: no memory may be asked for.
            let code = errno
            _ = signal(number, SIG_DFL)
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(interruptPipe, &byte, 1)
            errno = code
        }
        guard address(of: previous) == address(of: SIG_IGN) else { return true }
        signal(number, SIG_IGN)
        return false
    }

    /// What a handler is compared by. Sound: a pointer to a C function, also where it is missing, is a pointer's size of bits.
    private static func address(of handler: (@convention(c) (CInt) -> Void)?) -> Int {
        unsafeBitCast(handler, to: Int.self)
    }
}

/// Where the number of a signal goes.
///
/// Sound as `nonisolated(unsafe)`: it is set before a handler that reads it is installed, and not again: a program has one
/// `Interrupts`.
nonisolated(unsafe) private var interruptPipe: CInt = -1
