import Dispatch
import Foundation

/// Ctrl-C and its like. The first is told to a handler; the second kills, as it would have without this.
///
/// Sound as `@unchecked Sendable`: what changes is touched only on `queue`, which is serial.
final class Interrupts: @unchecked Sendable {
    private let queue = DispatchQueue(label: "fetch.interrupts")
    private var sources: [any DispatchSourceSignal] = []
    private var first: CInt?

    /// - Parameter onFirst: Called once, on a queue of its own.
    init(_ onFirst: @escaping @Sendable () -> Void) {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // Who started this with a signal ignored (`nohup`, a job of a shell script) wants it to stay so.
            guard address(of: signal(number, SIG_IGN)) != address(of: SIG_IGN) else { continue }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [weak self] in
                guard let self, first == nil else { return }
                first = number
                for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
                onFirst()
            }
            source.activate()
            sources.append(source)
        }
    }

    /// What a handler is compared by. Sound: a pointer to a C function, also where it is missing, is a pointer's size of bits.
    private func address(of handler: (@convention(c) (CInt) -> Void)?) -> Int {
        unsafeBitCast(handler, to: Int.self)
    }

    /// The signal that came, if one has.
    var received: CInt? { queue.sync { first } }
}
