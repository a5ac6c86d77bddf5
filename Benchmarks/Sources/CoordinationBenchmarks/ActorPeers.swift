/// The alternative to a lock: jobs that must not overlap are methods of an actor.
actor CounterActor {
    private(set) var count = 0

    func add() { count += 1 }
}

/// The alternative to a `DeferredSemaphore`, without cancellation.
actor ActorSemaphore {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ limit: Int) { free = limit }

    func acquire() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func release() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}

/// The alternative to a `DeferredQueue`, without limits and cancellation.
actor ActorQueue {
    private var elements: [Int] = []
    private var next = 0
    private var waiting: [CheckedContinuation<Int, Never>] = []

    func put(_ element: Int) {
        if waiting.isEmpty {
            elements.append(element)
        } else {
            waiting.removeFirst().resume(returning: element)
        }
    }

    func get() async -> Int {
        guard next < elements.count else { return await withCheckedContinuation { waiting.append($0) } }
        defer {
            next += 1
            if next == elements.count {
                elements.removeAll(keepingCapacity: true)
                next = 0
            }
        }
        return elements[next]
    }
}
