import Multicast

private final class View: Sendable {
    func show(_ image: String) {}
    func showPlaceholder() {}
}

private final class Member: OneEventManyListenersExamples.RoomDelegate {
    func received(_ text: String) {}
    func mayClose() -> Bool { true }
    func add(_ line: String) {}
    @MainActor func show(_ line: String) {}
}

private let (window, archive, askers) = (Member(), Member(), MulticastClosures<String, any Error>())
private func closeRoom() {}
private func startDownload() {}
private let delegates = MulticastDelegate<any OneEventManyListenersExamples.RoomDelegate>()
private let (chat, topic) = (BroadcastChannel<String>(), BroadcastChannel<String>())
