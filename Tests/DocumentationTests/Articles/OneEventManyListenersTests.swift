import Deferred
import DeferredTesting
import Dispatch
import Foundation
import Multicast
import TestSupport
import Testing

@Suite struct OneEventManyListenersTests: Article {
    let eventLog = SharedLog<String>()

    private final class Archive: Sendable {
        let eventLog: SharedLog<String>
        init(_ eventLog: SharedLog<String>) { self.eventLog = eventLog }
        func add(_ text: String) { eventLog.add(text) }
    }

    @MainActor private final class Window {
        private(set) var lines: [String] = []
        func show(_ line: String) { lines.append(line) }
    }

    @Test("Multicast: delegates are notified")
    func delegates() async throws {
        let heard = DeferredQueue<String>()
        let (window, archive) = (Listener(heard, agrees: true), Listener(heard, agrees: true))
        let delegates = MulticastDelegate<any RoomDelegate>()
        delegates.add(window, on: .main)
        delegates.add(archive, on: DispatchQueue(label: "archive"))
        delegates.notify { $0.received("hello") }
        #expect(try await heard.get().value == "hello")
        #expect(try await heard.get().value == "hello")
        withExtendedLifetime((window, archive)) {}
    }

    @Test("Multicast: delegates are asked", arguments: [true, false])
    func asking(agrees: Bool) {
        let heard = DeferredQueue<String>()
        let (first, second) = (Listener(heard, agrees: true), Listener(heard, agrees: agrees))
        let delegates = MulticastDelegate<any RoomDelegate>()
        delegates.add(first, on: nil)
        delegates.add(second, on: nil)
        @Sendable func closeRoom() { eventLog.add("closed") }
        delegates.all { $0.mayClose() }.done { everyoneAgrees in
            if everyoneAgrees { closeRoom() }
        }
        #expect(eventLog.all == (agrees ? ["closed"] : []))
        withExtendedLifetime((first, second)) {}
    }

    @Test("M7: without a dispatcher, a listener is called at once, on the thread that notifies or posts")
    func atOnce() {
        final class Here: Sendable {
            let thread = SharedLog<ObjectIdentifier>()
            func received() { thread.add(ObjectIdentifier(Thread.current)) }
        }
        let (here, delegates, channel) = (Here(), MulticastDelegate<Here>(), Channel<String>())
        delegates.add(here, on: nil)
        channel.listen(here) { here, _ in here.received() }
        delegates.notify { $0.received() }
        #expect(here.thread.all == [ObjectIdentifier(Thread.current)])
        channel.post("hello")
        #expect(here.thread.all.count == 2 && here.thread.all.last == ObjectIdentifier(Thread.current))
    }

    @Test("Multicast: who said no")
    func finding() async throws {
        let heard = DeferredQueue<String>()
        let (first, second) = (Listener(heard, agrees: true), Listener(heard, agrees: false))
        let delegates = MulticastDelegate<any RoomDelegate>()
        delegates.add(first, on: nil)
        delegates.add(second, on: nil)
        delegates.first { !$0.mayClose() }.done { objector in
            objector?.received("please save your work")
        }
        #expect(try await heard.get().value == "please save your work")
        withExtendedLifetime((first, second)) {}
    }

    @Test("Multicast: pairs of closures")
    func pairs() {
        let avatars = Avatars(eventLog)
        let views = [View(eventLog), View(eventLog)]
        views.forEach(avatars.avatar)
        avatars.downloaded(.success("image"))
        avatars.avatar(for: views[0])
        avatars.downloaded(.failure(Refused()))
        #expect(eventLog.all == ["download", "image", "image", "download", "placeholder"])
        withExtendedLifetime(views) {}
    }

    @Test("Multicast: channels, and a listener on the main actor")
    @MainActor func channels() async {
        let (window, archive) = (Window(), Archive(eventLog))
        let chat = Channel<String>("chat")
        chat.listen(window, on: MainActor.self) { window, line in window.show(line) }
        chat.listen(archive, priority: 1) { archive, line in archive.add(line) }
        chat.post("hello")
        #expect(eventLog.all == ["hello"])
        await drainMainActor()
        #expect(window.lines == ["hello"])
        chat.removeAll()
    }

    @Test("Multicast: one listener removed, and a retained message")
    func tokens() {
        let archive = Archive(eventLog)
        let chat = Channel<String>()
        let token = chat.listen(archive) { archive, line in archive.add(line) }
        token.remove()
        #expect(chat.post("hello") == 0)
        let topic = Channel<String>("topic")
        topic.post("multicasting", retained: true)
        topic.listen(archive) { archive, topic in archive.add(topic) }
        #expect(eventLog.all == ["multicasting"])
        topic.finish()
    }

    @Test("Multicast: a poster that listens later receives its own retained message")
    func ownRetainedMessage() {
        let (archive, other) = (Archive(eventLog), Archive(eventLog))
        let topic = Channel<String>()
        topic.listen(other) { _, topic in other.add("other: \(topic)") }
        topic.listen(archive) { archive, topic in archive.add(topic) }
        topic.post("listening", from: archive, retained: true)  // not delivered to archive
        topic.listen(archive) { archive, topic in archive.add(topic) }  // receives "listening"
        #expect(eventLog.all == ["other: listening", "listening"])
    }

    @Test("Multicast: a channel's messages")
    func messages() async {
        let chat = Channel<String>()
        let (begun, resolver) = Deferred<Void>.withResolver()
        let listening = Task {
            resolver.resolve()
            for await line in chat.messages(buffering: .bufferingNewest(10)) {
                print(line)
            }
        }
        try? await begun.value
        // Posts until the sequence listens, then ends it.
        while chat.post("hello") == 0 { await Task.yield() }
        chat.removeAll()
        await listening.value
        #expect(eventLog.all == ["hello"])
    }

    @Test("Multicast: a shared value")
    func sharedValue() {
        let members = SynchronizedValue<[String: Int]>([:])
        members.write { $0["ada", default: 0] += 1 }
        let score = members.read { $0["ada"] }
        #expect(score == 1)
    }
}

protocol RoomDelegate: AnyObject, Sendable {
    func received(_ text: String)
    func mayClose() -> Bool
}

private final class Listener: RoomDelegate {
    let heard: DeferredQueue<String>
    let agrees: Bool

    init(_ heard: DeferredQueue<String>, agrees: Bool) {
        self.heard = heard
        self.agrees = agrees
    }

    func received(_ text: String) { try? heard.put(text) }
    func mayClose() -> Bool { agrees }
}

private final class View: Sendable {
    let eventLog: SharedLog<String>
    init(_ eventLog: SharedLog<String>) { self.eventLog = eventLog }
    func show(_ image: String) { eventLog.add(image) }
    func showPlaceholder() { eventLog.add("placeholder") }
}

private struct Avatars {
    let askers = MulticastClosures<String, any Error>()
    let eventLog: SharedLog<String>

    init(_ eventLog: SharedLog<String>) { self.eventLog = eventLog }

    func startDownload() { eventLog.add("download") }

    func avatar(for view: View) {
        let isFirst = askers.add(
            view, on: nil, success: { view, image in view.show(image) },
            failure: { view, _ in view.showPlaceholder() })
        if isFirst { startDownload() }
    }

    func downloaded(_ result: Result<String, any Error>) {
        askers.complete(with: result)
    }
}
