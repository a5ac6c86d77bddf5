import Deferred
import Foundation

@testable import DeferredOperations

/// Numbers that a seed determines.
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}

/// Returns the seeds of that many random cases, or that of the environment's `SEED` alone, and prints the first.
func seeds(_ count: UInt64, _ test: String) -> Range<UInt64> {
    let chosen = ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) }
    let first = chosen ?? .random(in: 0 ... .max / 2)
    print("\(test) seed: \(first)")
    return first..<first + (chosen == nil ? count : 1)
}

/// Performs the actions of a state machine without a server, tasks or threads, and notes what happened.
struct Simulation: ~Copyable {
    typealias Machine = TransferStateMachine

    var machine: Machine
    let sink: any TransferSink
    private(set) var actions: [String] = []
    /// What has been passed to the sink since it was last asked to begin, and how much was announced then.
    private(set) var delivered = Data()
    private(set) var announced: Int64?
    private(set) var outcome: Result<HTTPURLResponse, any Error>?
    /// The requests that have been sent.
    private(set) var sent: [URLRequest] = []
    private var stage: [Data] = []
    /// The closure that was called last.
    private(set) var question: (@Sendable () throws -> Deferred<URLRequest?>)?
    private(set) var faults: [String] = []

    init(
        _ request: URLRequest, _ options: TransferOptions = .init(), into sink: any TransferSink,
        canPause: Bool = false
    ) {
        machine = Machine(request, options, canPause: canPause)
        self.sink = sink
    }

    var phase: TransferPhases { machine.phase }

    /// Has the machine handle events, each of the round that is then the present one.
    mutating func handle(_ events: TransferEvent...) {
        for event in events { handle(event, of: machine.round) }
    }

    mutating func handle(_ events: TransferEvent..., of round: Int?) {
        for event in events {
            let (hadEnded, previous) = (machine.hasEnded, machine.round)
            let actions = machine.handle(event, of: round)
            if machine.round != previous { stage = [] }
            for action in actions {
                let name = Self.name(of: action)
                self.actions.append(name)
                if hadEnded, !["close", "discard"].contains(name) {
                    faults.append("\(name) after the end")
                }
                perform(action)
            }
            guard case .consulting(let question) = machine.state else { continue }
            if case .begin(let answer) = question { (delivered, announced) = (Data(), answer.announced) }
            let reply: TransferReply
            do { reply = try sink.reply(to: question) } catch { reply = .failed(error) }
            handle(.sinkReplied(reply))
        }
    }

    mutating func tick(_ count: Int) { for _ in 0..<count { handle(.tick(isHeldUp: false)) } }

    private mutating func perform(_ action: Machine.Action) {
        switch action {
        case .send(let request), .openBody(let request): sent.append(request)
        case .stage(let data): stage.append(data)
        case .deliver(let data): deliver(data)
        case .close(let result):
            if outcome != nil { faults.append("a second end") }
            outcome = result
            if case .success = result {
                do { return try sink.finish() } catch { outcome = .failure(error) }
            }
            _ = sink.discard()
        case .discard: _ = sink.discard()
        case .call(let question): self.question = question
        case .flush, .suspend, .resume, .accept, .report, .conclude: break
        }
    }

    private mutating func deliver(_ data: Data) {
        delivered.append(data)
        if let announced, Int64(delivered.count) > announced { faults.append("more than was announced") }
        do {
            if try sink.receive(data) { handle(.full) }
        } catch {
            handle(.failed(error))
        }
    }

    /// Passes the next staged piece to the sink, or says that there is none, so many times.
    mutating func flush(_ times: Int = 1) {
        for _ in 0..<times {
            guard !stage.isEmpty else {
                handle(.flushed)
                continue
            }
            let piece = stage.removeFirst()
            delivered.append(piece)
            do { _ = try sink.receive(piece) } catch { handle(.failed(error)) }
        }
    }

    /// Returns a simulation that has sent its first request.
    static func started(
        _ request: URLRequest, _ options: TransferOptions = .init(), into sink: any TransferSink,
        canPause: Bool = false
    ) -> Simulation {
        var simulation = Simulation(request, options, into: sink, canPause: canPause)
        simulation.handle(.returned(.success(nil)))
        return simulation
    }

    /// Ends the transfer, if the outcome is decided.
    mutating func conclude() -> Result<HTTPURLResponse, any Error>? {
        handle(.concluded)
        return outcome
    }

    static func name(of value: Any) -> String {
        Mirror(reflecting: value).children.first?.label ?? "\(value)"
    }
}

/// Replies as a sink without a destination does, and keeps what it receives.
final class ScriptedSink: TransferSink, @unchecked Sendable {
    // Sound as `@unchecked Sendable`: a test uses it on one thread.
    private let request: URLRequest
    /// Whether there is a rest to request after each answer.
    private let isEndless: Bool
    /// How many bytes it has of an earlier attempt.
    private let before: Int64
    /// What is requested after a failure, one after another.
    private(set) var mirrors: [URLRequest]
    var isFull = false
    var verifies = false
    private(set) var data = Data()

    init(
        _ request: URLRequest, isEndless: Bool = false, before: Int64 = 0, mirrors: [URLRequest] = []
    ) {
        self.request = request
        self.isEndless = isEndless
        self.before = before
        self.mirrors = mirrors
    }

    func reply(to question: TransferQuestion) -> TransferReply {
        switch question {
        case .prepare: .request(request)
        case .begin: .body(before: before, total: nil)
        case .completed: verifies ? .verify({}) : isEndless ? .request(request) : .complete
        case .unsatisfiable: .nothing
        case .failed: mirrors.isEmpty ? .nothing : .request(mirrors.removeFirst())
        }
    }

    func receive(_ data: Data) -> Bool {
        self.data.append(data)
        return isFull
    }

    func finish() {}

    func discard() -> PartFile? { nil }
}

extension HTTPURLResponse {
    static func of(_ url: String, _ status: Int, _ headers: [String: String] = [:]) -> HTTPURLResponse {
        HTTPURLResponse(
            url: URL(string: url)!, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)!
    }
}
