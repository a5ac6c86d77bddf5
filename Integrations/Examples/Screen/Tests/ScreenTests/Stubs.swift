import Deferred
import Synchronization

@testable import Screen

/// Answers when a test says so.
nonisolated final class Requests: Sendable {
    struct Busy: Error {}
    private let pages = Mutex<[(text: String, answer: Deferred<Page>.Resolver)]>([])
    private let pictures = Mutex<[(film: Film, answer: Deferred<String>.Resolver)]>([])

    var texts: [String] { pages.withLock { $0.map(\.text) } }
    var films: [Film] { pictures.withLock { $0.map(\.film) } }
    func page(_ number: Int) -> Deferred<Page>.Resolver { pages.withLock { $0[number].answer } }
    func picture(_ number: Int) -> Deferred<String>.Resolver { pictures.withLock { $0[number].answer } }

    var server: Server {
        Server { text, page in
            let (deferred, resolver) = Deferred<Page>.withResolver()
            self.pages.withLock { $0.append(("\(text) \(page)", resolver)) }
            return deferred
        } picture: { film in
            let (deferred, resolver) = Deferred<String>.withResolver()
            self.pictures.withLock { $0.append((film, resolver)) }
            return deferred
        }
    }
}

let (alien, brazil) = (Film(id: 1, title: "Alien"), Film(id: 2, title: "Brazil"))
