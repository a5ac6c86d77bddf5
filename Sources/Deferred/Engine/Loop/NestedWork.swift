/// Work that begins where something is released or cancelled on a thread, and may release or cancel more, a million
/// levels deep: abandonments, values that are given back, and cancels that come from the handlers of cancelled Tasks.
///
/// A callback, for one, is released with what it captured, which may be the last reference to another source. To a
/// depth of 16, each piece of work runs within the one before, so that it is finished when the handle has been
/// released. Deeper ones wait until the one at that depth has finished (F6), or until a callback on this thread cancels
/// or waits for something, if that is earlier.
///
/// The thread's slot has the address of the outermost one. Sound: the slot is cleared before the memory that
/// it points to is released, and only its own thread reads it.
struct NestedWork {
    enum Item {
        case abandonment(of: Link)
        case cancel(of: Link)
        case closure(@Sendable () -> Void)

        /// Releases what it contains before it returns.
        fileprivate consuming func run() {
            switch consume self {
            case .abandonment(let link): DrainLoop.with { $0.settle(link, failingWith: .abandoned) }
            case .cancel(let link): link.cancel()
            case .closure(let closure): closure()
            }
        }
    }

    private static let slot = ThreadSlot()
    private static let greatestDepth = 16

    private var depth = 0
    private var waiting: [Item] = []

    static func run(_ item: consuming Item) {
        var own = NestedWork()
        // Taken out once, so that nothing of it is left when the work is done.
        var item = Optional(consume item)
        withUnsafeMutablePointer(to: &own) { own in
            let outer = slot.value
            let outermost = outer?.assumingMemoryBound(to: NestedWork.self) ?? own
            guard outermost.pointee.depth < greatestDepth else {
                return outermost.pointee.waiting.append(item.take()!)
            }
            slot.value = UnsafeMutableRawPointer(outermost)
            defer { slot.value = outer }
            outermost.pointee.depth += 1
            item.take()!.run()
            if outermost.pointee.depth == greatestDepth { finishWaiting() }
            outermost.pointee.depth -= 1
        }
    }

    /// Runs what waits on this thread, for a caller whose result depends on that. Limited in depth, since the callbacks
    /// that it runs may call this again.
    static func finishWaiting() {
        guard let outermost = slot.value?.assumingMemoryBound(to: NestedWork.self),
            outermost.pointee.depth < 2 * greatestDepth
        else { return }
        outermost.pointee.depth += 1
        while let next = outermost.pointee.waiting.popLast() { next.run() }
        outermost.pointee.depth -= 1
    }
}

extension Link {
    /// Cancels this link, and runs what follows.
    func cancel() { Link.cancel(CollectionOfOne(self)) }

    /// Cancels several links as one (C7), and runs what follows.
    static func cancel(_ links: some Collection<Link>) {
        let recorded = Recording.isOn ? links.map { Recording.begin(.cancelling, of: $0) } : []
        defer { for subject in recorded.reversed() { Recording.end(subject) } }
        NestedWork.finishWaiting()
        DrainLoop.with { $0.begin(links.lazy.map { CancelRequest($0) }) }
    }
}
