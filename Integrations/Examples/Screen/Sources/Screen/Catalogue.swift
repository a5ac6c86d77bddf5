import Deferred

/// A film of the catalogue. It is decoded and passed on anywhere.
nonisolated struct Film: Sendable, Hashable, Decodable {
    let id: Int
    let title: String
}

/// Some of the films that were found, and the number of the page after these.
nonisolated struct Page: Sendable {
    let films: [Film]
    let next: Int?
}

/// What the models ask. A test passes its own.
nonisolated struct Server: Sendable {
    let find: @Sendable (_ text: String, _ page: Int) -> Deferred<Page>
    let picture: @Sendable (Film) -> Deferred<String>
}
