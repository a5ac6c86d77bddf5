/// The cancels in progress on one loop, and what they have claimed: the one place that says in which order cancels take
/// effect (C7).
///
/// A walk goes from a root to the place where its cancel takes effect (`CancelPlace`). It runs nothing of a user's. What
/// does is enqueued here, and `next` takes it out when all walks have ended:
///
/// 1. requests whose walks have yet to begin;
/// 2. those that were *put off*: another thread may end a thing as soon as a cancel has taken effect there, and what then
///    begins may be one of the others. So a cancel of several comes first to what waits in a queue itself, as for a permit
///    (`isWaiting`), and to all before it takes effect on anything else. Each is put off once;
/// 3. the cancellers of what only waits in a queue, then the other cancellers;
/// 4. the finalizers of what nothing waits for;
/// 5. the steps of links that are failing: each was detached from its upstream, and receives the error.
///
/// The consumers of what was settled are notified after that, by the loop's jobs. A permit whose release could admit what a
/// list is about to cancel is released after these (`DrainLoop.Jobs.last`).
///
/// A value of the loop's; what is enqueued is in an object that only a cancel creates that needs it.
struct CancelWalk: ~Copyable {
    enum Action {
        /// Begin a walk.
        case request(CancelRequest)
        /// Run the canceller of a source, which was claimed.
        case canceller(of: Link)
        /// Release the scope of what nothing waits for.
        case scope(FinalizerScope)
        /// Run the step of a link with the error, in a scope.
        case failing(Link, FinalizerScope?)
    }

    private enum Progress { case none, ofOne, ofSeveral }

    /// Sound: its properties are accessed by one thread, in functions that call nothing of a user's, so that accesses do
    /// not overlap.
    private final class Lines {
        @exclusivity(unchecked) var requests = Line<CancelRequest>()
        @exclusivity(unchecked) var putOff = Line<CancelRequest>()
        @exclusivity(unchecked) var waitingSources = Line<Link>()
        @exclusivity(unchecked) var sources = Line<Link>()
        @exclusivity(unchecked) var ended = Line<FinalizerScope>()
        @exclusivity(unchecked) var failing = Line<(Link, FinalizerScope?)>()
    }

    private var progress = Progress.none
    private var linesReference = ColdReference<Lines>(nil)

    /// Whether a cancel is in progress.
    var isInProgress: Bool { progress != .none }

    /// Whether that is one of several things.
    var isOfSeveral: Bool { progress == .ofSeveral }

    /// Begins a cancel of `count` things. Returns false if one is in progress, of which this becomes part.
    mutating func begin(of count: Int) -> Bool {
        guard progress == .none else { return false }
        progress = count > 1 ? .ofSeveral : .ofOne
        return true
    }

    /// The cancel in progress turns out to be one of `count` things.
    mutating func extend(to count: Int) { if count > 1 { progress = .ofSeveral } }

    mutating func end() { progress = .none }

    private var lines: Lines {
        @inline(never) mutating get {
            if let lines = linesReference.object { return lines }
            let lines = Lines()
            linesReference = ColdReference(lines)
            return lines
        }
    }

    // MARK: Enqueuing

    mutating func enqueue(_ request: CancelRequest) { lines.requests.append(request) }

    /// Puts a request off that has come to where it takes effect, unless it was before. Returns false if it goes on.
    mutating func putsOff(_ request: CancelRequest, at link: Link) -> Bool {
        guard isToPutOff(request, at: link) else { return false }
        var request = request
        request.wasPutOff = true
        lines.putOff.append(request)
        return true
    }

    func isToPutOff(_ request: CancelRequest, at link: Link) -> Bool {
        isOfSeveral && !request.wasPutOff && link.coldState?.isWaiting == nil
    }

    /// A source whose canceller was claimed.
    mutating func enqueueCanceller(of source: Link, isWaiting: Bool) {
        if isWaiting { lines.waitingSources.append(source) } else { lines.sources.append(source) }
    }

    /// The scope of a source that was settled, and that nothing waits for.
    mutating func enqueueEnd(of scope: FinalizerScope) { lines.ended.append(scope) }

    /// A link whose step is to receive the error, in a scope.
    mutating func enqueueFailing(_ link: Link, in scope: FinalizerScope?) {
        lines.failing.append((link, scope))
    }

    // MARK: The order

    /// Takes out what is to be done next; nil if the cancel has ended.
    func next() -> Action? {
        guard let lines = linesReference.object else { return nil }
        if let request = lines.requests.removeFirst() ?? lines.putOff.removeFirst() {
            return .request(request)
        }
        if let source = lines.waitingSources.removeFirst() ?? lines.sources.removeFirst() {
            return .canceller(of: source)
        }
        if let scope = lines.ended.removeFirst() { return .scope(scope) }
        return lines.failing.removeFirst().map { .failing($0.0, $0.1) }
    }
}
