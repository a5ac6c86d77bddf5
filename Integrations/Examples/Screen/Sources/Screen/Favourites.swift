import Multicast

/// The films that are marked. Screens that show them are notified of each change.
final class Favourites {
    nonisolated struct Change: Sendable {
        let film: Film
        let isMarked: Bool
    }

    let changes = BroadcastChannel<Change>()
    private(set) var films: Set<Film> = []

    func toggle(_ film: Film) {
        let isMarked = films.remove(film) == nil
        if isMarked { films.insert(film) }
        changes.post(Change(film: film, isMarked: isMarked))
    }
}

/// The number on a tab.
final class BadgeModel {
    private(set) var count: Int

    init(_ favourites: Favourites) {
        count = favourites.films.count
        favourites.changes.listen(self, on: MainActor.self) { badge, change in
            badge.count += change.isMarked ? 1 : -1
        }
    }
}

/// The star of the film that a screen shows.
final class StarModel {
    private(set) var isMarked: Bool

    init(_ film: Film, in favourites: Favourites) {
        isMarked = favourites.films.contains(film)
        favourites.changes.listen(self, on: MainActor.self) { star, change in
            if change.film == film { star.isMarked = change.isMarked }
        }
    }
}
