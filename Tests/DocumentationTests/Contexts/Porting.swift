import Deferred
import DeferredTesting
import Foundation
import Multicast

private struct Profile: Sendable { static let guest = Profile() }
private struct TimedOut: Error {}

@MainActor private final class View {
    func show(_ profile: Profile) {}
    func show(_ profile: Profile, _ friends: [String]) {}
    func show(_ error: any Error) {}
    func hideSpinner() {}
}

private struct Store: Sendable {
    struct Reading: Sendable { func stop() {} }
    func read(_ key: String, _ completion: @escaping @Sendable (String?, (any Error)?) -> Void) {}
    func begin(_ key: String, _ completion: @escaping @Sendable (String?, (any Error)?) -> Void) -> Reading {
        Reading()
    }
}

private protocol LocationDelegate {
    func didLocate(_ place: String)
    func didFail(_ error: any Error)
}

@MainActor private let view = View()
private let (name, session, addresses, keys) = ("ann", 7, ["/a", "/b"], ["a", "b"])
private let (store, bag, loop) = (Store(), CancelBag(), ManualClock())
private func logIn(_ name: String) -> Deferred<Int> { .never() }
private func profile(in session: Int) -> Deferred<Profile> { .never() }
private func friends(in session: Int) -> Deferred<[String]> { .never() }
private func read(_ key: String) -> Deferred<String> { .never() }
private func log(_ line: String) {}
private func show(_ pages: [String: String]) {}
private func show(_ pages: [String?]) {}
