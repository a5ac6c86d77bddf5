import Deferred
import DeferredTesting
import Multicast
import Synchronization
import TestSupport
import Testing

/// A completion handler may be called with a value or an error, or never.
private struct Store: Sendable {
    typealias Completion = @Sendable (String?, (any Error)?) -> Void

    let answer: @Sendable (String, @escaping Completion) -> Void

    func read(_ key: String, completion: @escaping Completion) { answer(key, completion) }
}

/// A request that is started and cancelled.
private final class Upload: Sendable {
    let eventLog: SharedLog<String>
    private let completion: SynchronizedValue<(@Sendable (Result<Int, any Error>) -> Void)?> = .init(nil)

    init(_ text: String, eventLog: SharedLog<String>) { self.eventLog = eventLog }

    func start(_ completion: @escaping @Sendable (Result<Int, any Error>) -> Void) {
        eventLog.add("started")
        self.completion.write { $0 = completion }
    }

    func finish(_ result: Result<Int, any Error>) { completion.read { $0 }?(result) }
    func cancel() { eventLog.add("cancelled") }
}

private protocol ScannerDelegate: AnyObject, Sendable {
    func scanner(_ scanner: Scanner, didFind code: String)
    func scanner(_ scanner: Scanner, didFailWith error: any Error)
}

/// As many such classes, it has a weak reference to its delegate.
private final class Scanner: @unchecked Sendable {
    nonisolated(unsafe) static var last: Scanner?
    nonisolated(unsafe) weak var delegate: (any ScannerDelegate)?
    private(set) var isScanning = false

    init() { Scanner.last = self }
    func start() { isScanning = true }
    func stop() { isScanning = false }
}

/// The requests in progress of one connection.
final class Requests: Sendable {
    private struct State {
        var lastNumber = 0
        var resolvers: [Int: Resolver<String>] = [:]
    }

    private let state = Mutex(State())

    /// Waits for the answer to a request, which `send` sends with its number.
    func answer(_ send: (_ number: Int) -> Void) -> Deferred<String> {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        // What the canceller takes out is released after the lock.
        let (answer, resolver) = Deferred<String>.withResolver(
            canceller: { [weak self] _ in _ = self?.take(number) })
        state.withLock { $0.resolvers[number] = resolver }
        send(number)
        return answer
    }

    func didReceive(_ text: String, for number: Int) { take(number)?.resolve(text) }

    func didClose(_ error: any Error) {
        let resolvers = state.withLock { state in
            let resolvers = state.resolvers
            state.resolvers = [:]
            return resolvers
        }
        for resolver in resolvers.values { resolver.reject(error) }
    }

    private func take(_ number: Int) -> Resolver<String>? {
        state.withLock { $0.resolvers.removeValue(forKey: number) }
    }
}

@Suite(.serialized) struct WrappingCallbacksTests {
    let eventLog = SharedLog<String>()

    private let store = Store { key, completion in
        switch key {
        case "name": completion("ann", nil)
        case "age": completion(nil, Refused())
        case "nothing": completion(nil, nil)
        default: break
        }
    }

    private func check(_ read: (String) -> Deferred<String>) throws {
        #expect(try successResult(of: read("name")) == "ann")
        #expect(try failureResult(of: read("age")) is Refused)
        guard case DeferredError.invalidArgument? = try failureResult(of: read("nothing")) as? DeferredError
        else {
            Issue.record("neither a value nor an error is not refused")
            return
        }
        #expect(try failureResult(of: read("other")) as? DeferredError == .abandoned)
    }

    @Test("Wrapping: the arguments of a completion handler")
    func arguments() throws {
        func read(_ key: String) -> Deferred<String> {
            Deferred { resolver in
                store.read(key) { value, error in resolver.complete(value, error) }
            }
        }
        try check(read)
    }

    @Test("Wrapping: a completion handler that a resolver returns")
    func completionHandler() throws {
        func read(_ key: String) -> Deferred<String> {
            Deferred { resolver in store.read(key, completion: resolver.completionHandler()) }
        }
        try check(read)
    }

    @Test("Wrapping: a request that can be cancelled")
    func cancellable() throws {
        let upload = Upload("text", eventLog: eventLog)
        func send(_ upload: Upload) -> Deferred<Int> {
            let (count, resolver) = Deferred<Int>.withResolver(canceller: { _ in upload.cancel() })
            upload.start { result in resolver.complete(with: result) }
            return count
        }
        let count = send(upload)
        upload.finish(.success(4))
        #expect(try successResult(of: count) == 4)
        let cancelled = send(upload)
        cancelled.cancel()
        #expect(eventLog.all == ["started", "started", "cancelled"])
        // The result that arrives after the cancellation is dropped without a report.
        upload.finish(.success(5))
        #expect(try failureResult(of: cancelled) is CancellationError)
    }

    @Test("Wrapping: a forgotten request, retained by its canceller", arguments: [true, false])
    func forgotten(isWeak: Bool) throws {
        struct Reference { weak var upload: Upload? }
        func forgottenRequest() -> (Deferred<Int>, Reference) {
            let upload = Upload("text", eventLog: eventLog)
            if isWeak {
                let (count, resolver) = Deferred<Int>.withResolver(
                    canceller: { [weak upload] _ in upload?.cancel() })
                upload.start { resolver.complete(with: $0) }
                return (count, Reference(upload: upload))
            }
            let (count, resolver) = Deferred<Int>.withResolver(canceller: { _ in upload.cancel() })
            upload.start { resolver.complete(with: $0) }
            return (count, Reference(upload: upload))
        }
        let (count, reference) = forgottenRequest()
        if isWeak {
            #expect(try failureResult(of: count) as? DeferredError == .abandoned)
        } else {
            try expectNoResult(count)
            #expect(reference.upload != nil)
            count.cancel()
            #expect(try failureResult(of: count) is CancellationError)
        }
        #expect(reference.upload == nil)
    }

    @Test("Wrapping: many requests, found by number, whose callbacks send and cancel others")
    func requests() throws {
        let (requests, eventLog) = (Requests(), eventLog)
        let first = requests.answer { eventLog.add("sends \($0)") }
        let second = first.then { _ in requests.answer { eventLog.add("sends \($0)") } }
        requests.didReceive("one", for: 1)
        let third = requests.answer { eventLog.add("sends \($0)") }
        third.cancel()
        #expect(try failureResult(of: third) is CancellationError)
        let (fourth, fifth) = (requests.answer { _ in }, requests.answer { _ in })
        second.fail { _ in
            fourth.cancel()
            _ = requests.answer { eventLog.add("sends \($0)") }
        }
        requests.didClose(Refused())
        #expect(try failureResult(of: second) is Refused)
        #expect(fourth.hasFired && fifth.hasFired)
        #expect(try failureResult(of: fifth) is Refused)
        _ = try failureResult(of: fourth)
        #expect(eventLog.all == ["sends 1", "sends 2", "sends 3", "sends 6"])
    }

    /// Its `cancel()` calls the handler.
    private final class EagerUpload: Sendable {
        private let completion = SynchronizedValue<(@Sendable (Result<Int, any Error>) -> Void)?>(nil)
        func start(_ completion: @escaping @Sendable (Result<Int, any Error>) -> Void) {
            self.completion.write { $0 = completion }
        }
        func cancel() { completion.read { $0 }?(.failure(Refused())) }
    }

    @Test("Wrapping: an API whose cancel calls its handler at once")
    func handlerCalledByCancel() throws {
        let upload = EagerUpload()
        func send() -> Deferred<Int> {
            let (count, resolver) = Deferred<Int>.withResolver(canceller: { _ in upload.cancel() })
            upload.start { result in resolver.complete(with: result) }
            return count
        }
        let plain = send()
        plain.cancel()
        #expect(try failureResult(of: plain) is Refused)

        let (count, resolver) = Deferred<Int>.withResolver(canceller: { resolver in
            resolver.reject(CancellationError())
            upload.cancel()  // calls its handler at once; that result is late
        })
        let reported = diagnostics(reportedDuring: {
            upload.start { result in resolver.complete(with: result) }
            count.cancel()
        })
        #expect(reported.isEmpty)
        #expect(try failureResult(of: count) is CancellationError)
    }

    /// One scan: the scanner's delegate until it has a code.
    private final class Scan: ScannerDelegate {
        let code: Deferred<String>
        private let resolver: Resolver<String>

        private init() { (code, resolver) = Deferred.withResolver() }

        static func start() -> Deferred<String> {
            let (scan, scanner) = (Scan(), Scanner())
            scanner.delegate = scan
            scanner.start()
            // Retains both until there is an outcome, whichever it is.
            return scan.code.always { _ in
                scanner.stop()
                withExtendedLifetime(scan) {}
            }
        }

        func scanner(_ scanner: Scanner, didFind code: String) { resolver.resolve(code) }
        func scanner(_ scanner: Scanner, didFailWith error: any Error) { resolver.reject(error) }
    }

    @Test("Wrapping: a delegate is retained until there is an outcome", arguments: [0, 1, 2])
    func delegate(ending: Int) throws {
        let code = Scan.start()
        let scanner = try #require(Scanner.last)
        #expect(scanner.isScanning && scanner.delegate != nil)
        switch ending {
        case 0: scanner.delegate?.scanner(scanner, didFind: "4711")
        case 1: scanner.delegate?.scanner(scanner, didFailWith: Refused())
        default: code.cancel()
        }
        switch try #require(code.currentResult) {
        case .success(let code): #expect(ending == 0 && code == "4711")
        case .failure(let error): #expect(ending == 1 ? error is Refused : error is CancellationError)
        }
        #expect(!scanner.isScanning && scanner.delegate == nil)
    }

    @Test("Wrapping: a Deferred for code that has a completion handler")
    func theOtherWay() {
        let eventLog = eventLog
        func fetchPage() -> Deferred<String> { .resolved("page") }
        func fetchPage(completion: @escaping @Sendable (Result<String, any Error>) -> Void) {
            fetchPage().both { result in completion(result) }
        }
        fetchPage { eventLog.add("\($0)") }
        #expect(eventLog.all == [#"success("page")"#])
    }
}
