import Deferred
import DeferredTesting
import Dispatch
import Foundation
import TestSupport
import Testing

/// Returns a Deferred that the first signal resolves. The second one ends the program.
func interruption(by number: CInt = SIGINT) -> Deferred<Void> {
    signal(number, SIG_IGN)  // or the first one ends the program
    let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "signals"))
    let (interrupted, resolver) = Deferred<Void>.withResolver()
    source.setEventHandler {
        if interrupted.hasFired { exit(128 + number) }
        resolver.resolve()
        withExtendedLifetime(source) {}  // a source that is released receives nothing
    }
    source.resume()
    return interrupted
}

@Suite struct CommandLineProgramsTests: Article {
    let eventLog = SharedLog<String>()

    private func exitCode(_ results: [Result<Int, any Error>]) -> CInt {
        let errors = results.compactMap { result in
            if case .failure(let error) = result { error } else { nil }
        }
        if errors.contains(where: { $0 is CancellationError }) { return 130 }
        return errors.isEmpty ? 0 : 1
    }

    /// Checks six addresses, of which two are done when `stop` is called.
    private func run(stop: (DeferredList<Int>, Deferred<[Result<Int, any Error>]>) -> Void) throws -> CInt {
        let checks = DeferredQueue<Int>()
        @Sendable func check(_ address: String) -> Deferred<Int> {
            if address == "/2" { return .rejected(Refused()) }
            return checks.get()
        }
        let addresses = (1...6).map { "/\($0)" }
        let list = DeferredList(addresses, limit: 4) { address in check(address) }
        let results = list.results()
        try checks.put(200)
        stop(list, results)
        let checked = try results.wait()
        for (address, result) in zip(addresses, checked) {
            switch result {
            case .success(let status): print("\(address): \(status)")
            case .failure(let error):
                print("\(address): \(error is CancellationError ? "not checked" : "\(error)")")
            }
        }
        return exitCode(checked)
    }

    private let partialReport =
        ["/1: 200", "/2: refused"] + (3...6).map { "/\($0): not checked" }

    @Test("Command-line programs: a signal cancels the list's inputs, and what was done is reported")
    func cancelled() throws {
        let interrupted = Deferred<Void>()
        let code = try run { list, _ in
            interrupted.done { list.cancel() }
            interrupted.resolve()
        }
        #expect(code == 130)
        #expect(eventLog.all == partialReport)
    }

    @Test("Command-line programs: shielded, a signal survives the cancel of what waits for it")
    func shielded() throws {
        let interrupted = Deferred<Void>()
        let list = DeferredList([Deferred.resolved(1)])
        let results = list.results()
        let onInterruption = interrupted.shielded().done { list.cancel() }
        results.finally { _ in onInterruption.cancel() }
        #expect(onInterruption.hasFired)
        try expectNoResult(interrupted)
        let other = Deferred<Void>()
        other.done { list.cancel() }.cancel()
        #expect(other.hasFired)
    }

    @Test("Command-line programs: a time limit for the whole run keeps what was done")
    func limited() throws {
        let clock = ManualClock()
        let code = try run { list, results in
            let limit = Deferred.after(.seconds(60), on: clock).done { list.cancel() }
            results.finally { _ in limit.cancel() }
            clock.advance(by: .seconds(60))
        }
        #expect(code == 130)
        #expect(eventLog.all == partialReport)
    }

    @Test("Command-line programs: exit codes")
    func exitCodes() {
        #expect(exitCode([.success(200)]) == 0)
        #expect(exitCode([.success(200), .failure(Refused())]) == 1)
        #expect(exitCode([.failure(Refused()), .failure(CancellationError())]) == 130)
    }
}
