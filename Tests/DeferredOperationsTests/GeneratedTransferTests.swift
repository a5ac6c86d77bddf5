import Deferred
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import DeferredOperations

/// Random events for the state machine and each of the real sinks, without a server: whatever a server sends,
/// and whenever the user, a timer or the disk comes in between.
@Suite(.watchdog)
struct GeneratedTransferTests {
    /// A server of which each answer is right or wrong at random: what the transfer hears about one request.
    private struct Server {
        /// Two versions of one resource, of different contents.
        let versions: [Data]
        var version = 0

        mutating func events(
            for request: URLRequest, _ random: inout Seeded
        ) -> [TransferEvent] {
            if random.chance(8) { version = random.below(versions.count) }
            let body = versions[version]
            var headers = ["Accept-Ranges": "bytes"]
            if random.chance(90) { headers["ETag"] = "\"\(version)\"" }
            var (status, range) = (200, 0..<body.count)
            if let asked = request.value(forHTTPHeaderField: "Range").flatMap({ RequestedRange($0) }),
                request.value(forHTTPHeaderField: "If-Range").map({ $0 == "\"\(version)\"" }) ?? true
            {
                guard asked.first < Int64(body.count) else {
                    headers["Content-Range"] = "bytes */\(body.count)"
                    return [.head(.of(request.url!.absoluteString, 416, headers)), .completed(nil)]
                }
                var end = min(body.count, Int(asked.last ?? .max - 1) + 1)
                // A part that ends short of what was asked for.
                if random.chance(20) { end = Int(asked.first) + 1 + random.below(end - Int(asked.first)) }
                (status, range) = (206, Int(asked.first)..<end)
                headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)"
            }
            switch random.below(100) {
            case 0..<8:
                status = [301, 302, 303, 307, 308].randomElement(using: &random)!
                headers["Location"] = ["/a", "http://other.example/b", "ftp://nowhere", ""].randomElement(
                    using: &random)!
            case 8..<14: status = [401, 404, 416, 500, 503, 204, 206, 304].randomElement(using: &random)!
            default: break
            }
            let isAnnounced = status == 206 || random.chance(80)
            if isAnnounced { headers["Content-Length"] = "\(range.count)" }
            var data = body[body.startIndex + range.lowerBound..<body.startIndex + range.upperBound]
            if status == 204 { data = Data() }
            var end: (any Error)?
            switch random.below(100) {
            case 0..<10:
                (data, end) = (data.prefix(random.below(data.count + 1)), URLError(.networkConnectionLost))
            case 10..<14 where isAnnounced && status != 204: data = data.prefix(random.below(data.count + 1))
            case 14..<18 where isAnnounced && status != 204: data += Data([1, 2, 3])
            default: break
            }
            var events: [TransferEvent] = []
            if random.chance(5) { events.append(.head(.of(request.url!.absoluteString, 103))) }
            let head = HTTPURLResponse.of(request.url!.absoluteString, status, headers)
            // Of a redirect or a challenge, a client may deliver no body.
            if headers["Location"] != nil || status == 401, random.chance(30) {
                return events + [.answered(head)]
            }
            events.append(.head(head))
            while !data.isEmpty {
                let piece = data.prefix(1 + random.below(400))
                events.append(.bytes(Data(piece)))
                data = data.dropFirst(piece.count)
            }
            events.append(.completed(end))
            if random.chance(10) { misbehave(&events, head, &random) }
            return events
        }

        /// Reports more than there is: a second head, or something after the end.
        private func misbehave(
            _ events: inout [TransferEvent], _ head: HTTPURLResponse, _ random: inout Seeded
        ) {
            events += [
                .bytes(Data([9])), .completed(nil), .head(head), .completed(CancellationError()), .sent(3),
            ]
            .shuffled(using: &random)
            let others: [TransferEvent] = [.head(head), .sent(7), .head(.of("http://x", 500))]
            let first = events.firstIndex { if case .bytes = $0 { true } else { false } }
            if let first { events.insert(others[random.below(3)], at: first) }
        }
    }

    /// A consumer of a stream, which takes what there is when it is told to.
    ///
    /// Sound as `@unchecked Sendable`: one thread uses it.
    private final class Reader: @unchecked Sendable {
        private let buffer: StreamBuffer
        private var isWaiting = false
        private(set) var hasEnded = false
        private(set) var data = Data()

        init(_ buffer: StreamBuffer) { self.buffer = buffer }

        func take() {
            buffer.deliver()
            guard !isWaiting else { return }
            isWaiting = true
            buffer.take { [self] taken in
                isWaiting = false
                switch taken {
                case .success(let pieces) where !pieces.isEmpty: for piece in pieces { data.append(piece) }
                case .success, .failure: hasEnded = true
                }
            }
        }
    }

    private enum Kind: CaseIterable { case load, download, resumed, mirrored, stream }

    /// One transfer, to its end.
    private struct Run: ~Copyable {
        var random: Seeded
        var server: Server
        var simulation: Simulation
        var waiting: [TransferEvent] = []
        var answered = 0
        var round = -1
        var isStopped = false
        /// Called now and then: a consumer that takes what has come.
        let consume: () -> Void

        mutating func finish() {
            simulation.handle(.returned(.success(nil)))
            for _ in 0..<20_000 where simulation.phase != .over { step() }
        }

        private mutating func step() {
            if simulation.sent.count > answered {
                answered = simulation.sent.count
                waiting = server.events(for: simulation.machine.request, &random)
                round = simulation.machine.round
            }
            if random.chance(30) { consume() }
            switch random.below(1000) {
            case 0..<2: stop()
            case 2..<4: simulation.handle(.limitPassed(.seconds(1)), of: nil)
            case 4..<24: simulation.handle(.tick(isHeldUp: random.chance(20)), of: nil)
            case 24..<34: late()
            case 34..<100 where simulation.phase != .consulting: simulation.handle(.room, of: nil)
            default: proceed()
            }
        }

        private mutating func stop() {
            simulation.handle(.stop, of: nil)
            isStopped = true
        }

        /// What comes of an earlier round changes nothing.
        private mutating func late() {
            let (actions, phase) = (simulation.actions.count, simulation.phase)
            for event in TransferTableTests.events {
                simulation.handle(event, of: simulation.machine.round - 1)
            }
            #expect(simulation.actions.count == actions && simulation.phase == phase)
        }

        /// What the closure that checks returns, or a failure.
        private func checked(_ isRefused: Bool) -> Result<URLRequest?, any Error> {
            Result {
                if isRefused { throw CancellationError() }
                return try simulation.question?().currentResult?.get()
            }
        }

        private mutating func proceed() {
            switch simulation.phase {
            case .staging where waiting.isEmpty || random.chance(30):
                simulation.handle(.returned(checked(random.chance(10))))
            case .flushing where waiting.isEmpty || random.chance(30): simulation.flush()
            case .asking:
                let answers: [Result<URLRequest?, any Error>] = [
                    (try? simulation.question?().currentResult) ?? .success(nil), .success(nil),
                    .success(simulation.machine.request), .failure(CancellationError()),
                ]
                simulation.handle(.returned(answers.randomElement(using: &random)!))
            case .verifying: simulation.handle(.returned(checked(random.chance(10))))
            case .paused where waiting.isEmpty || round != simulation.machine.round:
                simulation.handle(.room, of: nil)
            case .ending: simulation.handle(.concluded, of: nil)
            default:
                guard !waiting.isEmpty else { return }
                simulation.handle(waiting.removeFirst(), of: round)
            }
        }
    }

    private func options(_ random: inout Seeded) -> TransferOptions {
        var options = TransferOptions(silenceTimeout: .seconds(8))
        if random.chance(30) { options.validateResponse = { _ in } }
        if random.chance(20) { options.onRedirect = { _ in .resolved(.follow) } }
        if random.chance(50) { options.onChallenge = { .resolved($0.request) } }
        if random.chance(10) { options.maximumByteCount = Int64(random.below(3000)) }
        return options
    }

    /// Runs a transfer; returns what is wrong with its end.
    private func run(_ kind: Kind, _ seed: UInt64) throws -> [String] {
        var random = Seeded(state: seed)
        let versions = (0..<2).map { version in
            Data(
                (0..<random.below(2500)).map {
                    UInt8(truncatingIfNeeded: $0 &* (version == 0 ? 7 : 11) &+ version)
                })
        }
        let request = URLRequest(url: URL(string: "http://example.org/it")!)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("generated-\(UUID())")
        let file = folder.appendingPathComponent("it")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        let memory = MemorySink(request)
        let buffer = StreamBuffer(limit: 200, pauseByteCount: 300)
        let reader = Reader(buffer)
        let isFile = [.download, .resumed, .mirrored].contains(kind)
        let resumes = kind == .resumed || kind == .mirrored && random.chance(50)
        let mirrors = kind == .mirrored ? [URL(string: "http://mirror.example/it")!] : []
        let sink: any TransferSink =
            switch kind {
            case .load: memory
            case .stream: StreamSink(buffer, for: request) { _ in }
            default:
                FileSink(
                    file, DownloadOptions(resumes: resumes, mirrors: mirrors) { _ in }, for: request)
            }
        var run = Run(
            random: random, server: Server(versions: versions),
            simulation: Simulation(request, options(&random), into: sink, canPause: random.chance(30)),
            consume: { if kind == .stream { reader.take() } })
        run.finish()
        var faults = run.simulation.faults
        if run.simulation.phase != .over { faults.append("never ended") }
        buffer.end(nil)
        if kind == .stream { while !reader.hasEnded { reader.take() } }
        let content = isFile ? FileManager.default.contents(atPath: file.path) : nil
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        switch run.simulation.outcome {
        case .success(let response)?:
            let whole = isFile ? content : kind == .load ? memory.data : reader.data
            let isRight =
                response.statusCode == 204 ? whole?.isEmpty == true : versions.contains(whole ?? Data([0]))
            if !isRight { faults.append("wrong bytes: \(whole?.count ?? -1)") }
            if isFile, names != ["it"] { faults.append("left over: \(names)") }
        default:
            if !names.isEmpty, !resumes || names != ["it.part", "it.part.from"] {
                faults.append("left over: \(names)")
            }
        }
        return faults
    }

    @Test("O2, O5: generated events end each transfer once, with the right bytes or an error")
    func generated() throws {
        for seed in seeds(Extent.programs(200, share: 0.01), "GeneratedTransferTests") {
            for kind in Kind.allCases {
                let faults = try run(kind, seed)
                try #require(faults.isEmpty, "SEED=\(seed) \(kind): \(faults)")
            }
        }
    }
}
