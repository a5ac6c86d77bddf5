/// Objects in the order in which they were last used: a list that is linked by their identities. Each function takes
/// constant time on average, and releases no object: what is removed is returned.
struct RecencyList<Object: AnyObject & Sendable>: Sendable {
    private struct Place: Sendable {
        let object: Object
        var older: ObjectIdentifier?
        var newer: ObjectIdentifier?
    }

    private var places: [ObjectIdentifier: Place] = [:]
    private var oldest: ObjectIdentifier?
    private var newest: ObjectIdentifier?

    /// Makes an object the one that was used last; adds it if it is not there.
    mutating func use(_ object: Object) {
        let id = ObjectIdentifier(object)
        if newest == id { return }
        let place = remove(object) ?? object
        places[id] = Place(object: place, older: newest)
        if let newest { places[newest]?.newer = id }
        newest = id
        if oldest == nil { oldest = id }
    }

    @discardableResult
    mutating func remove(_ object: Object) -> Object? {
        let id = ObjectIdentifier(object)
        guard let place = places.removeValue(forKey: id) else { return nil }
        if let older = place.older { places[older]?.newer = place.newer } else { oldest = place.newer }
        if let newer = place.newer { places[newer]?.older = place.older } else { newest = place.older }
        return place.object
    }

    /// Removes and returns the object whose last use is longest ago.
    mutating func removeOldest() -> Object? {
        oldest.flatMap { places[$0]?.object }.flatMap { remove($0) }
    }
}
