/// A walk from link to link. Most chains never branch, and need no memory to walk along.
struct Walk {
    /// What a visit to a link finds.
    enum Visit {
        /// The walk continues there.
        case next(Link)
        /// It continues with the others that the visit has appended, or with those that are left.
        case end
        /// What was searched for is found.
        case stop
        /// The link has more neighbours than the visit may append. It is visited again.
        case tooWide
    }

    private var current: Link?
    /// Branches that are still to be visited.
    private var others: [Link] = []
    /// The links visited since the first branch, or the 64th link. (Two threads may have closed a cycle
    /// elsewhere that neither has broken yet: even then this ends.)
    private var seen: Set<ObjectIdentifier> = []
    private var steps = 0
    private let boundary: Link?

    /// - Parameter boundary: A link that is not visited, unless it is the first.
    init(from start: Link, past boundary: Link? = nil) {
        current = start
        self.boundary = boundary
        if let boundary, boundary !== start { seen = [ObjectIdentifier(boundary)] }
    }

    /// Whether no link is left to visit.
    var isOver: Bool { current == nil && others.isEmpty }

    /// Visits `count` links at most, counting those that are found on the way, and ends early at one that is too wide.
    mutating func visit(_ count: Int, _ visit: (Link, inout [Link]) -> Visit) {
        var rest = count
        while rest > 0, let link = current ?? others.popLast() {
            current = nil
            steps += 1
            if steps > 64 || !others.isEmpty || !seen.isEmpty {
                guard seen.insert(ObjectIdentifier(link)).inserted else { continue }
            }
            let before = others.count
            switch visit(link, &others) {
            case .next(let next): current = next
            case .end: break
            case .stop: return
            case .tooWide:
                seen.remove(ObjectIdentifier(link))
                current = link
                return
            }
            rest -= 1 + others.count - before
        }
    }

    /// Visits the next link, however many neighbours it has, and returns it; nil if none is left. The walk then continues
    /// with the neighbours: the one that the closure returns, and those that it appends.
    mutating func next(_ neighbours: (Link, inout [Link]) -> Link?) -> Link? {
        var visited: Link?
        while visited == nil, !isOver {
            visit(1) { link, others in
                visited = link
                return neighbours(link, &others).map { .next($0) } ?? .end
            }
        }
        return visited
    }
}

extension Link {
    /// Walks up from this link, to what the closure returns, until that sets its last argument; returns whether it did.
    func finds(_ visit: (_ link: Link, _ isFound: inout Bool) -> Link?) -> Bool {
        var walk = Walk(from: self)
        var isFound = false
        while !isFound, walk.next({ link, _ in visit(link, &isFound) }) != nil {}
        return isFound
    }
}
