import Deferred
import DeferredTesting
import Dispatch
import Multicast
import Testing

@Suite struct OneEventManyListenersTests {
    let journal = Journal()

    private final class Window: Sendable {
        let journal: Journal
        init(_ journal: Journal) { self.journal = journal }
        func show(_ text: String) { journal.write(text) }
    }

    @Test("Multicast: delegates, told and asked")
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

    @Test("Multicast: who agrees", arguments: [true, false])
    func asking(agrees: Bool) {
        let heard = DeferredQueue<String>()
        let (first, second) = (Listener(heard, agrees: true), Listener(heard, agrees: agrees))
        let delegates = MulticastDelegate<any RoomDelegate>()
        delegates.add(first, on: nil)
        delegates.add(second, on: nil)
        @Sendable func closeRoom() { journal.write("closed") }
        delegates.all { $0.mayClose() }.then { everyoneAgrees in
            if everyoneAgrees { closeRoom() }
        }
        #expect(journal.all == (agrees ? ["closed"] : []))
        withExtendedLifetime((first, second)) {}
    }

    @Test("Multicast: pairs of closures")
    func pairs() {
        let avatars = Avatars(journal)
        let views = [View(journal), View(journal)]
        views.forEach(avatars.avatar)
        avatars.downloaded(.success("image"))
        avatars.avatar(for: views[0])
        avatars.downloaded(.failure(Refused()))
        #expect(journal.all == ["download", "image", "image", "download", "placeholder"])
        withExtendedLifetime(views) {}
    }

    @Test("Multicast: channels")
    func channels() async {
        let window = Window(journal)
        let chat = Channel<String>("chat")
        chat.listen(window, priority: 1) { window, line in window.show(line) }
        chat.post("hello")
        #expect(journal.all == ["hello"])
        chat.remove(window)
    }

    @Test("Multicast: a channel's messages")
    func messages() async {
        let print: @Sendable (String) -> Void = journal.write
        let chat = Channel<String>()
        let (begun, resolver) = Deferred<Void>.withResolver()
        let listening = Task {
            resolver.resolve()
            for await line in chat.messages(buffering: .bufferingNewest(10)) {
                print(line)
            }
        }
        try? await begun.value
        // Posted until somebody listens; then the sequence is ended.
        while chat.post("hello") == 0 { await Task.yield() }
        chat.removeAll()
        await listening.value
        #expect(journal.all == ["hello"])
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
    let journal: Journal
    init(_ journal: Journal) { self.journal = journal }
    func show(_ image: String) { journal.write(image) }
    func showPlaceholder() { journal.write("placeholder") }
}

private struct Avatars {
    let askers = MulticastClosures<String, any Error>()
    let journal: Journal

    init(_ journal: Journal) { self.journal = journal }

    func startDownload() { journal.write("download") }

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
