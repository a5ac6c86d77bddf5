/// The entries of a ``DeferredCache``, and the order in which they were used. Each function is one critical section, and
/// releases no entry that the caller does not retain.
struct CacheTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Entry = CacheEntry<Key, Value>

    /// By the keys' hash values: keys are compared outside of the lock.
    private var buckets: [Int: [Entry]] = [:]
    private var count = 0
    /// What is kept, and what was when it was last used: a request that renews it may be in progress.
    private var recency = RecencyList<Entry>()
    /// How many entries were chosen to be released, and are still in buckets.
    private var evictedCount = 0

    var entries: [Entry] { buckets.values.flatMap { $0 } }

    func bucket(_ hash: Int) -> [Entry] { buckets[hash] ?? [] }

    /// Adds a new entry unless its bucket has changed since it was read.
    mutating func insert(_ entry: Entry, ifUnchanged bucket: [Entry]) -> Bool {
        let present = self.bucket(entry.hash)
        guard present.elementsEqual(bucket, by: ===) else { return false }
        buckets[entry.hash] = present + [entry]
        count += 1
        return true
    }

    mutating func remove(_ entry: Entry) {
        let bucket = bucket(entry.hash)
        let rest = bucket.filter { $0 !== entry }
        guard rest.count < bucket.count else { return }
        buckets[entry.hash] = rest.isEmpty ? nil : rest
        count -= 1
        recency.remove(entry)
    }

    /// Makes an entry the one that was used last, if it is still there.
    mutating func use(_ entry: Entry) {
        if bucket(entry.hash).contains(where: { $0 === entry }) { recency.use(entry) }
    }

    /// Chooses the entry that was used least recently, if there are more than `maximumCount`. It may turn out to be in
    /// progress; it is used again when its request has ended.
    mutating func beginEviction(beyond maximumCount: Int) -> Entry? {
        guard count - evictedCount > maximumCount, let oldest = recency.removeOldest() else { return nil }
        evictedCount += 1
        return oldest
    }

    mutating func endEviction(of entry: Entry, hasEnded: Bool) {
        evictedCount -= 1
        if hasEnded { remove(entry) }
    }
}
