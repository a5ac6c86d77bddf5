import Deferred
import DeferredOperations
import Foundation
import LoopbackServer

/// The chapters of `--demo`: what Deferreds are good for, each as a short chain.
struct Story: Sendable {
    let server: LoopbackServer
    let folder: DemoFolder
    let run: Run
    let style: TerminalStyle

    /// Runs the chapters, one after another.
    func chapters() -> Deferred<Void> {
        chain()
            .then { recovery() }
            .then { retry() }
            .then { list() }
            .then { cancelling() }
    }

    /// A callback returns another Deferred, here that of a list, and the chain waits for it.
    private func chain() -> Deferred<Void> {
        title("1. A chain: each callback receives the result of the one before. Where one")
        tell("   returns another Deferred, here for a whole list, the chain waits for it.")
        code("fetch(\"index.json\").map(parse).then { DeferredList($0.map(fetch)).values() }")
        return fetch("index.json")
            .map { file in try Data(contentsOf: .file(file)) }
            .map { data in try JSONDecoder().decode([String].self, from: data) }
            .then { names in DeferredList(names.map(fetch)).values() }
            .done { files in tell("   All \(files.count) are here, in the order of the index.") }
    }

    /// An errback fetches something else in place of what failed. It is for one type of error, so that a
    /// cancellation passes it.
    private func recovery() -> Deferred<Void> {
        title("2. Recovery: an errback receives the error and returns something in its place.")
        code("fetch(\"original.txt\").orElse { error in fetch(\"copy.txt\") }")
        return fetch("original.txt")
            .orElse(DataSourceError.self) { error in
                let reason = ErrorText.inWords(error, about: server.url("/original.txt"))
                tell("   Errback: \"\(reason)\". Fetching the copy instead.")
                return fetch("copy.txt")
            }
            .done { _ in tell("   The next callback receives the copy, and no error.") }
    }

    /// The fetcher retries by itself; here the server causes a retry.
    private func retry() -> Deferred<Void> {
        title("3. Retry: the server is busy, then breaks off, then works.")
        code("Deferred.retry(attempts: 3, delay: .retryAfter()) { fetch(\"flaky.gz\") }")
        return fetch("flaky.gz").done { _ in }
    }

    /// The first value of a list decides, and the rest is cancelled.
    private func list() -> Deferred<Void> {
        title("4. A list: two mirrors race. The first one wins, the other is cancelled.")
        code("DeferredList([far, near], cancelsRemaining: true).first()")
        let mirrors = ["far.iso", "near.iso"]
        return DeferredList(mirrors.map(fetch), cancelsRemaining: true).first()
            .done { winner in tell("   The winner is \(mirrors[winner.index]).") }
    }

    /// `cancel()` passes up the chain to the transfer. The error comes down the chain to the errback, and the
    /// finalizer runs when everything else has.
    private func cancelling() -> Deferred<Void> {
        title("5. Cancelling: a download without end is stopped. Its finalizer runs last.")
        code("let endless = fetch(\"endless.log\").finally { _ in … };  endless.cancel()")
        let endless = fetch("endless.log").finally { _ in
            let names = folder.names
            tell("   Finalizer, after all callbacks: \(names.count) files in the folder, all of them whole.")
        }
        Deferred.after(.milliseconds(500)).done { endless.cancel() }
        return
            endless
            .done { _ in }
            .fail(CancellationError.self) { _ in tell("   Errback: cancelled, after half a second.") }
    }

    /// Fetches a file from the server. The result is its path.
    private func fetch(_ name: String) -> Deferred<String> {
        let path = folder.file(name)
        let download = run.log.add { index in
            Download(index: index, text: server.url("/\(name)"), name: name, destination: .file(path))
        }
        return run.fetcher.fetch(download).thenReturn(path)
    }

    private func title(_ line: String) {
        tell("")
        tell(line)
    }

    private func code(_ line: String) { tell("   " + style.paint(line, .cyan)) }
    private func tell(_ line: String) { run.display.output(line) }
}
