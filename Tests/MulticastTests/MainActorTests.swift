import Deferred
import DeferredTesting
import Multicast
import TestSupport
import Testing

/// Delegates, closures and listeners that are isolated to the main actor. MainActorByDefault has the same, compiled with that
/// isolation by default.
@Suite(.watchdog)
@MainActor struct MainActorTests {
    @MainActor protocol WindowDelegate: AnyObject {
        func close() -> Bool
        func title() -> Deferred<String>
    }

    final class Window: WindowDelegate {
        var lines: [String] = []
        let name: String
        let mayClose: Bool

        init(_ name: String = "a", mayClose: Bool = true) {
            self.name = name
            self.mayClose = mayClose
        }

        func show(_ line: String) { lines.append(line) }

        func close() -> Bool {
            lines.append("close")
            return mayClose
        }

        func title() -> Deferred<String> { .resolved(name) }
    }

    @Test("Main actor: a channel's listener runs there, not before the post returns, and in order")
    func listener() async {
        let chat = BroadcastChannel<String>()
        let window = Window()
        chat.listen(window, on: MainActor.self) { window, line in window.show(line) }
        let token = chat.listen(window, on: MainActor.self) { line in window.show("again \(line)") }
        chat.post("1")
        #expect(window.lines.isEmpty)
        _ = await Task.detached { chat.post("2") }.value
        await drainMainActor()
        #expect(window.lines == ["1", "again 1", "2", "again 2"])
        chat.post("3")
        token.remove()
        await drainMainActor()
        #expect(window.lines.suffix(1) == ["3"], "M2")
    }

    @Test("Main actor: pairs of closures run there")
    func closures() async {
        let askers = MulticastClosures<String, any Error>()
        let window = Window()
        askers.add(
            window, on: MainActor.self, success: { window, text in window.show(text) },
            failure: { window, error in window.show("\(error)") })
        askers.add(
            window, on: MainActor.self, success: { window.show("also \($0)") },
            failure: { window.show("also \($0)") })
        await Task.detached { askers.complete(with: .success("done")) }.value
        await drainMainActor()
        #expect(window.lines == ["done", "also done"])
    }

    @Test("Main actor: delegates are notified there, whatever dispatcher they were added with")
    func notified() async {
        let delegates = MulticastDelegate<any WindowDelegate>()
        let windows = [Window(), Window()]
        delegates.add(windows[0], on: nil)
        delegates.add(windows[1], on: MainActor.self)
        await Task.detached { delegates.notify(on: MainActor.self) { _ = $0.close() } }.value
        await drainMainActor()
        #expect(windows.map(\.lines) == [["close"], ["close"]])
        delegates.notify(on: MainActor.self) { _ = $0.close() }
        #expect(windows[0].lines.count == 1, "not before notify returns")
        for window in windows { delegates.remove(window, on: MainActor.self) }
        await drainMainActor()
        #expect(windows.map(\.lines.count) == [2, 1], "M2")
    }

    @Test("Main actor: each question is put there, in the order added", arguments: [true, false])
    func asked(sequentially: Bool) async throws {
        let delegates = MulticastDelegate<any WindowDelegate>()
        let windows = [Window("a"), Window("b", mayClose: false), Window("c")]
        // The references of the delegates are weak, and optimised code releases what it has used for the last time.
        defer { withExtendedLifetime(windows) {} }
        for window in windows { delegates.add(window, on: .global()) }
        let order = sequentially ? MulticastOrder.sequentially : .concurrently
        let all = await Task.detached {
            delegates.all(asking: order, on: MainActor.self) { $0.close() }
        }.value
        #expect(try await all.value == false)
        #expect(try await delegates.any(asking: order, on: MainActor.self) { $0.close() }.value)
        #expect(
            try await delegates.all(asking: order, on: MainActor.self) { $0.title().map { $0 != "d" } }.value)
        #expect(
            try await delegates.any(asking: order, on: MainActor.self) { $0.title().map { $0 == "c" } }.value)
        #expect(try await delegates.collect(on: MainActor.self) { $0.close() }.value == [true, false, true])
        #expect(
            try await delegates.collectDeferred(on: MainActor.self) { $0.title() }.value == ["a", "b", "c"])
        let names = delegates.reduce(into: "", on: MainActor.self) { names, _ in names += "." }
        #expect(try await names.value == "...")
        let count = delegates.reduce(over: 0, on: MainActor.self) { count, window in
            window.close() ? .next(count + 1) : .stop(count)
        }
        #expect(try await count.value == 1)
        let titles = delegates.reduceDeferred(over: "", on: MainActor.self) { titles, window in
            window.title().map { MulticastStep.next(titles + $0) }
        }
        #expect(try await titles.value == "abc")
    }

    @Test("Main actor: the delegate that said yes is found there")
    func found() async throws {
        let windows = MulticastDelegate<Window>()
        let (first, second) = (Window("a", mayClose: false), Window("b"))
        defer { withExtendedLifetime((first, second)) {} }
        windows.add(first, on: nil)
        windows.add(second, on: nil)
        #expect(try await windows.first(on: MainActor.self, where: { $0.close() }).value === second)
        let named = windows.first(on: MainActor.self, where: { $0.title().map { $0 == "b" } })
        #expect(try await named.value === second)
    }
}
