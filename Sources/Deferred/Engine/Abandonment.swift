/// Abandonment: a pending source that nothing can complete any more fails (A1).
extension Link {
    /// Abandons the source whose last producer was released, unless something else settles it.
    func abandon() {
        let word = lock()
        // A cancel that is under way settles it; what it follows still may.
        guard phase == .source, !flags.contains(.cancelled), !isFollowing else { return unlock(word) }
        beAbandoned(on: Platform.currentThread)
        unlock(word)
        Abandonment.run(self)
    }

    /// Abandons the pending source whose last handle was released. Called from `deinit`: another link fails
    /// in its place.
    ///
    /// Its consumers point to this one, without a reference. They are made to point to the other under their
    /// own locks, under which alone such a pointer is read, so that none outlives this link.
    func abandonAtEnd() {
        let standIn = Link(.bypassed, .none, made)
        if Recording.isOn { standIn.take(number: numbered()) }
        standIn.coldState = coldState.take()
        standIn.beAbandoned(on: Platform.currentThread)
        // Its handles, which could unpause it, were released too (P1).
        let list = word.load(ordering: .relaxed) & ~Word.flags
        word.store(0, ordering: .relaxed)
        standIn.word.store(list, ordering: .relaxed)
        Link.forEach(in: list) { $0.repoint(from: self, to: standIn) }
        Abandonment.run(standIn)
    }

    /// Decides that this source fails: from here on nothing else settles it. Under its lock.
    private func beAbandoned(on thread: UInt) {
        phase = .running
        activeThread = thread
        flags.insert(.handled)
    }

    fileprivate func finishAbandonment() {
        var loop = DrainLoop()
        loop.settle(self, failingWith: .abandoned)
        loop.run()
    }
}

/// The abandonments under way on one thread, one within another.
///
/// A callback is released with what it captured, which may be the last reference to another source, and so on
/// a million times. To a depth of 16, each abandonment runs within the one before, so that it is finished when
/// the handle has been released. Deeper ones wait until the one at that depth has finished (F6), or until a
/// callback on this thread cancels or waits for something, if that is earlier.
///
/// The thread's slot has the address of the outermost one. Sound: the slot is cleared before the memory that it
/// points to is released, and only its own thread reads it.
struct Abandonment {
    private static let slot = ThreadSlot()
    private static let greatestDepth = 16

    private var depth = 0
    private var waiting: [Link] = []

    fileprivate static func run(_ link: Link) {
        if let outermost = slot.value?.assumingMemoryBound(to: Abandonment.self) {
            return run(link, in: outermost)
        }
        var abandonment = Abandonment()
        withUnsafeMutablePointer(to: &abandonment) { outermost in
            slot.value = UnsafeMutableRawPointer(outermost)
            defer { slot.value = nil }
            run(link, in: outermost)
        }
    }

    private static func run(_ link: Link, in outermost: UnsafeMutablePointer<Abandonment>) {
        guard outermost.pointee.depth < greatestDepth else {
            outermost.pointee.waiting.append(link)
            return
        }
        outermost.pointee.depth += 1
        link.finishAbandonment()
        if outermost.pointee.depth == greatestDepth { finishWaiting(in: outermost) }
        outermost.pointee.depth -= 1
    }

    /// Runs the abandonments that wait on this thread, for a caller whose result depends on them. Limited in
    /// depth, since the callbacks that they run may call this again.
    static func finishWaiting() {
        guard let outermost = slot.value?.assumingMemoryBound(to: Abandonment.self),
            !outermost.pointee.waiting.isEmpty, outermost.pointee.depth < 2 * greatestDepth
        else { return }
        outermost.pointee.depth += 1
        finishWaiting(in: outermost)
        outermost.pointee.depth -= 1
    }

    private static func finishWaiting(in outermost: UnsafeMutablePointer<Abandonment>) {
        while let next = outermost.pointee.waiting.popLast() { next.finishAbandonment() }
    }
}
