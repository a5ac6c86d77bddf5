internal import Foundation

/// The pieces of a body between the transfer that they come from and their consumer.
///
/// Up to `limit` bytes wait in memory, what comes beyond that in a temporary file. The transfer appends pieces under
/// its own lock, and calls the consumer with `deliver()` when it has released that. A transfer that can pause does so
/// when the file has `pauseByteCount` bytes; `onRoom` is called once the consumer has taken them all.
///
/// Sound as `@unchecked Sendable`: the variables are accessed only under `lock`; the consumer and `onRoom` are called
/// when it has been released.
final class StreamBuffer: @unchecked Sendable {
    /// What a consumer receives.
    enum Taken {
        case pieces([Data])
        case end((any Error)?)
    }

    private let limit: Int
    private let pauseByteCount: Int64
    private let lock = NSLock()
    private var pieces: [Data] = []
    private var byteCount = 0
    private var overflow: OverflowFile?
    private var isOpen = false
    private var isOver = false
    private var isPaused = false
    private var error: (any Error)?
    /// The waiting consumers, first in first out; more than one only if several loops share a body.
    private var consumers: [(Taken) -> Void] = []
    private var onRoom: (@Sendable () -> Void)?

    init(limit: Int, pauseByteCount: Int64) {
        self.limit = limit
        self.pauseByteCount = pauseByteCount
    }

    /// Whether the body has ended for the transfer.
    var hasEnded: Bool { lock.withLock { isOver } }

    /// Whether the body was cancelled. Bytes that were taken are then discarded.
    var isCancelled: Bool { lock.withLock { error is CancellationError } }

    // MARK: The transfer

    /// Sets the closure that is called when a paused transfer may continue.
    func setOnRoom(_ onRoom: @escaping @Sendable () -> Void) {
        lock.withLock { self.onRoom = onRoom }
    }

    func append(_ piece: Data) throws {
        try lock.withLock {
            guard !isOver, !piece.isEmpty else { return }
            if byteCount < limit, overflow?.isEmpty ?? true {
                pieces.append(piece)
                byteCount += piece.count
            } else {
                let file = try overflow ?? OverflowFile()
                overflow = file
                try file.append(piece)
            }
        }
    }

    /// Whether the transfer is to pause, if it can; if so, `onRoom` will be called.
    func pauseIfFull() -> Bool {
        lock.withLock {
            guard !isOver, let overflow, overflow.byteCount >= pauseByteCount else { return false }
            isPaused = true
            return true
        }
    }

    /// Allows delivery to the consumer: the answer has been accepted.
    func open() {
        lock.withLock { isOpen = true }
    }

    /// Ends the body; the first call counts, or a cancel after it. After a cancel, waiting bytes are dropped.
    func end(_ error: (any Error)?) {
        let onRoom = lock.withLock { () -> (@Sendable () -> Void)? in
            guard !isOver || error is CancellationError else { return nil }
            isOver = true
            self.error = error
            if error is CancellationError || !isOpen { dropAll() }
            return self.onRoom.take()
        }
        _ = consume onRoom
    }

    /// Under the lock.
    private func dropAll() {
        pieces = []
        byteCount = 0
        overflow = nil
    }

    /// Calls the consumers that wait, as far as there is something for them.
    func deliver() {
        while true {
            let call = lock.withLock {
                () -> (consumer: (Taken) -> Void, taken: Taken, onRoom: (@Sendable () -> Void)?)? in
                guard !consumers.isEmpty, let (taken, onRoom) = takeAll() else { return nil }
                return (consumers.removeFirst(), taken, onRoom)
            }
            guard let call else { return }
            call.onRoom?()
            call.consumer(call.taken)
        }
    }

    // MARK: The consumer

    /// Calls `consumer` once with the next bytes: at once, or from `deliver()`.
    func take(_ consumer: @escaping (Taken) -> Void) {
        let call = lock.withLock { () -> (taken: Taken, onRoom: (@Sendable () -> Void)?)? in
            let call = takeAll()
            if call == nil { consumers.append(consumer) }
            return call
        }
        guard let call else { return }
        call.onRoom?()
        consumer(call.taken)
    }

    /// Takes the waiting bytes in memory, or as many out of the file. Under the lock.
    private func takeAll() -> (taken: Taken, onRoom: (@Sendable () -> Void)?)? {
        if isOpen, !pieces.isEmpty {
            defer {
                pieces = []
                byteCount = 0
            }
            return (.pieces(pieces), onRoomIfDrained())
        }
        if isOpen, let overflow, !overflow.isEmpty {
            do {
                let piece = try overflow.take(upTo: limit)
                return (.pieces([piece]), onRoomIfDrained())
            } catch {
                isOver = true
                self.error = error
                dropAll()
            }
        }
        return isOver ? (.end(error), nil) : nil
    }

    private func onRoomIfDrained() -> (@Sendable () -> Void)? {
        guard isPaused, overflow?.isEmpty ?? true else { return nil }
        isPaused = false
        return onRoom
    }
}
