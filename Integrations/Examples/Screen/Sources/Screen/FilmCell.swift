import Deferred

/// Pictures, requested once for all cells that show them; a hundred are kept.
final class Pictures {
    private let server: Server
    private let cache = DeferredCache<Int, String>(maximumCount: 100)

    init(server: Server) { self.server = server }

    func picture(of film: Film) -> Deferred<String> {
        cache.value(for: film.id) { server.picture(film) }
    }
}

/// A cell that the list uses again for another film when its row has been scrolled away.
final class FilmCell {
    private(set) var picture: String?
    private var loading: Deferred<Void>?

    func show(_ film: Film, pictures: Pictures) {
        // The request ends, unless another cell waits for that picture, too.
        loading?.cancel()
        let picture = pictures.picture(of: film)
        // What is there is shown without a flicker: a callback on the main actor would run later, in any case.
        if case .success(let found)? = picture.currentResult {
            self.picture = found
            return
        }
        self.picture = nil
        loading = picture.done(on: MainActor.self) { [weak self] in self?.picture = $0 }
            .fail { _ in }  // A row without a picture.
    }
}
