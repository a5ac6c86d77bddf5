import NIOCore
import NIOEmbedded
import Testing

// The code of the article "Porting" that is to be ported, so that it is what a user of NIO would write.

private struct Failed: Error {}

private struct Store {
    func read(_ key: String, _ completion: @escaping (String?, (any Error)?) -> Void) {
        completion("ann", nil)
    }
}

@Suite struct NIOSnippets {
    private let store = Store()
    private let loop = EmbeddedEventLoop()
    private let other = EmbeddedEventLoop()
    private let addresses = ["/a", "/b"]

    private func fetch(_ address: String, on loop: EmbeddedEventLoop) -> EventLoopFuture<String> {
        loop.makeSucceededFuture("page \(address)")
    }

    private func log(_ line: String) {}

    private func promised() -> EventLoopFuture<String> {
        let promise = loop.makePromise(of: String.self)
        store.read("name") { value, error in
            if let value { promise.succeed(value) } else { promise.fail(error ?? Failed()) }
        }
        return promise.futureResult
    }

    @Test("Porting: NIO's code does what the article says")
    func snippets() throws {
        let count =
            fetch("/a", on: loop)
            .flatMap { page in fetch(page, on: loop) }
            .map { page in page.count }
            .flatMapErrorThrowing { _ in 0 }
        #expect(try count.wait() == "page page /a".count)
        #expect(try promised().wait() == "ann")
        let all =
            EventLoopFuture.whenAllSucceed(addresses.map { fetch($0, on: loop) }, on: loop)
        #expect(try all.wait() == ["page /a", "page /b"])

        let promise = loop.makePromise(of: String.self)
        let limit = loop.scheduleTask(in: .seconds(5)) { promise.fail(Failed()) }
        fetch("/a", on: loop).cascade(to: promise)
        promise.futureResult.whenComplete { _ in limit.cancel() }
        loop.advanceTime(by: .seconds(9))
        #expect(try promise.futureResult.wait() == "page /a")

        let task = loop.scheduleRepeatedAsyncTask(initialDelay: .seconds(1), delay: .seconds(30)) { _ in
            fetch("/ping", on: loop).map { _ in }
        }
        task.cancel()
        fetch("/a", on: other)
            .hop(to: loop)
            .whenSuccess { page in log(page) }
    }
}
