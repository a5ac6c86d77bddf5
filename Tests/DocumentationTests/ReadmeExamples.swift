// The code of README.md, as it stands there, in surroundings that make it run. `ReadmeTests` holds the two together.
import Deferred

struct ReadmeBasic {
    let print: @Sendable (String) -> Void

    func run() {
        let greeting = Deferred<String>()

        greeting
            .then { print("Hello, \($0)!") }
            .fail { print("Nobody to greet: \($0)") }

        greeting.resolve("world")
    }
}

struct ReadmeCallbackAPI {
    enum LoadError: Error { case unknown }

    let loadFile:
        @Sendable (_ name: String, _ completion: @escaping @Sendable ([UInt8]?, (any Error)?) -> Void) -> Void

    func loadFile(named name: String, _ completion: @escaping @Sendable ([UInt8]?, (any Error)?) -> Void) {
        loadFile(name, completion)
    }

    func load(_ name: String) -> Deferred<[UInt8]> {
        Deferred { resolver in
            loadFile(named: name) { bytes, error in
                if let bytes { resolver.resolve(bytes) } else { resolver.reject(error ?? LoadError.unknown) }
            }
        }
    }
}

struct ReadmeComposition {
    struct Service: Sendable {
        let logIn: @Sendable (String) -> Deferred<Int>
        let profileOf: @Sendable (Int) -> Deferred<String>
        let friendsOf: @Sendable (Int) -> Deferred<[String]>

        func profile(in session: Int) -> Deferred<String> { profileOf(session) }
        func friends(in session: Int) -> Deferred<[String]> { friendsOf(session) }
    }

    struct Screen: Sendable {
        let draw: @Sendable (String) -> Void

        func show(_ profile: String, _ friends: [String]) { draw("\(profile) with \(friends)") }
        func show(_ error: any Error) { draw("\(error)") }
    }

    let service: Service
    let screen: Screen

    func showHome(for name: String) -> Deferred<Void> {
        service.logIn(name)
            .then { session in
                gather(service.profile(in: session), service.friends(in: session))
            }
            .then { profile, friends in
                screen.show(profile, friends)
            }
            .fail { error in
                screen.show(error)
            }
    }
}

struct ReadmePages {
    let findPage: @Sendable (String) -> Deferred<String>
    let fetchPage: @Sendable (String) -> Deferred<String>
    let addresses: [String]
    let print: @Sendable (String) -> Void

    func findPage(named name: String) -> Deferred<String> { findPage(name) }
    @Sendable func fetchPage(at address: String) -> Deferred<String> { fetchPage(address) }

    func nested() -> Deferred<Int> {
        let length = findPage(named: "index")
            .then { address in fetchPage(at: address) }
            .then { page in page.count }
        return length
    }

    func awaited() async throws -> String {
        let page = try await fetchPage(at: "/index").value
        let shout = Deferred { try await page.shouted() }
        return try await shout.value
    }

    func race() {
        let mirrors = DeferredList(addresses.map(fetchPage), cancelsRemaining: true)

        mirrors.first().then { index, page in
            print("\(addresses[index]) was first, with \(page.count) characters")
        }
    }
}

struct ReadmeFinalizer {
    struct Connection: Sendable {
        let open: @Sendable () -> Deferred<Void>
        let ask: @Sendable (String) -> Deferred<String>
        let close: @Sendable () -> Void
    }

    let connection: Connection
    let print: @Sendable (String) -> Void

    func run() {
        connection.open()
            .finally { _ in connection.close() }
            .then { connection.ask("How are you?") }
            .then { answer in print(answer) }
    }
}
