import Deferred

private struct User: Sendable {
    let name = "ann"
    let age = 40
}

private let text = "text"
private func logIn() -> Deferred<Int> { .resolved(7) }
private func user(_ session: Int) -> Deferred<User> { .resolved(User()) }
private func save(_ page: String) -> Deferred<Void> { .resolved() }
