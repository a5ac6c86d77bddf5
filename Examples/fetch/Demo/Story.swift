import Deferred
import DeferredOperations
import Foundation
import LoopbackServer

/// What `--demo` tells: what Deferreds are good for, in five steps, each a short chain.
struct Story: Sendable {
    let server: LoopbackServer
    let folder: DemoFolder
    let run: Run

    /// The steps, one after another.
    func chapters() -> Deferred<Void> {
        requestThatLeadsToOthers()
            .then { failureWithARemedy() }
            .then { failuresThatPass() }
            .then { raceOfMirrors() }
            .then { cancelledInTime() }
    }

    /// A callback gives back another Deferred, here a list of them, and the chain waits for it.
    private func requestThatLeadsToOthers() -> Deferred<Void> {
        tell("1. An answer names the next requests, and the chain waits for all of them.")
        return fetch("index.json")
            .then { file in try Data(contentsOf: .file(file)) }
            .then { index in try JSONDecoder().decode([String].self, from: index) }
            .then { names in DeferredList(names.map(fetch)).values() }
            .then { files in tell("   All \(files.count) are there, in the order in which they were named.") }
    }

    /// An errback has another value in place of the error, and the chain goes on as if nothing had been. This
    /// one is for what the tries came to, and lets a cancel pass.
    private func failureWithARemedy() -> Deferred<Void> {
        tell("2. A request fails, and an errback has a remedy.")
        return fetch("original.txt")
            .fail(RetryError.self) { error in
                let reason = Reason.inWords(error, about: server.url("/original.txt"))
                tell("   Errback: \(reason), so ask for the copy.")
                return fetch("copy.txt")
            }
            .then { _ in tell("   The chain goes on as if nothing had been.") }
    }

    /// `Deferred.retry` is in the fetcher already: here it has something to do.
    private func failuresThatPass() -> Deferred<Void> {
        tell("3. A server that is busy, then breaks off, and then is well: two more tries.")
        return fetch("flaky.bin").then { _ in tell("   Whole in the end.") }
    }

    /// The first value of a list decides, and the rest are cancelled.
    private func raceOfMirrors() -> Deferred<Void> {
        tell("4. Two mirrors of one thing: the first to be whole wins, the other is cancelled.")
        let mirrors = ["far.iso", "near.iso"]
        return DeferredList(mirrors.map(fetch), cancelsRemaining: true).first()
            .then { winner in tell("   \(mirrors[winner.index]) was first.") }
    }

    /// A cancel goes up the chain to what it waits for, and an errback sees it as an error like any other.
    private func cancelledInTime() -> Deferred<Void> {
        tell("5. A download without end is cancelled, and leaves nothing.")
        let endless = fetch("endless.log")
        Deferred.after(.milliseconds(500)).then { endless.cancel() }
        return
            endless
            .then { _ in }
            .fail(CancellationError.self) { _ in
                tell("   Cancelled. In the folder: \(folder.names.joined(separator: ", ")).")
            }
    }

    /// Fetches what the server has by that name, and gives the path of the file.
    private func fetch(_ name: String) -> Deferred<String> {
        let path = folder.file(name)
        let transfer = run.journal.add { index in
            Transfer(index: index, text: server.url("/\(name)"), name: name, destination: .file(path))
        }
        return run.fetcher.fetch(transfer).thenReturn(path)
    }

    private func tell(_ line: String) { run.display.output(line) }
}
