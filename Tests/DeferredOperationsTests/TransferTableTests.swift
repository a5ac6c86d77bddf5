import Foundation
import Testing

@testable import DeferredOperations

/// The table of transitions, and the page that is generated from it.
struct TransferTableTests {
    typealias Machine = TransferStateMachine

    static let phases: [(name: String, phase: TransferPhases)] = [
        ("preparing", .preparing), ("consulting", .consulting), ("requesting", .requesting),
        ("staging", .staging), ("flushing", .flushing), ("receiving", .receiving), ("sampling", .sampling),
        ("paused", .paused), ("asking", .asking), ("verifying", .verifying), ("ending", .ending),
        ("over", .over),
    ]

    /// One of each kind. A new kind of event makes this not compile.
    static let events: [TransferEvent] = {
        var events: [TransferEvent] = []
        var next: TransferEvent? = .returned(.success(nil))
        while let event = next {
            events.append(event)
            next =
                switch event {
                case .returned: .failed(CancellationError())
                case .failed: .sinkReplied(.nothing)
                case .sinkReplied: .head(.of("http://a", 200))
                case .head: .bytes(Data())
                case .bytes: .sent(0)
                case .sent: .completed(nil)
                case .completed: .answered(.of("http://a", 200))
                case .answered: .flushed
                case .flushed: .full
                case .full: .room
                case .room: .tick(isHeldUp: false)
                case .tick: .limitPassed(.zero)
                case .limitPassed: .stop
                case .stop: .concluded
                case .concluded: nil
                }
        }
        return events
    }()

    private func names(_ set: TransferPhases) -> [String] {
        Self.phases.filter { set.contains($0.phase) }.map(\.name)
    }

    /// The diagram: what leads from one state to another.
    private var diagram: String {
        var lines = ["stateDiagram-v2", "    [*] --> preparing", "    over --> [*]"]
        for (from, phase) in Self.phases {
            for (to, _) in Self.phases where to != from {
                let kinds = Self.events.filter { event in
                    if case .stop = event { return false }
                    return names(TransferPhases.targets(of: event, in: phase) ?? []).contains(to)
                }
                guard !kinds.isEmpty else { continue }
                lines.append(
                    "    \(from) --> \(to): \(kinds.map { Simulation.name(of: $0) }.joined(separator: ", "))")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// The table: an event in each row, the states that it leads to in each state.
    private var table: String {
        var lines = ["| event | in | leads to |", "|---|---|---|"]
        for event in Self.events {
            var cells: [(to: String, from: [String])] = []
            for (name, phase) in Self.phases {
                let to: String
                switch TransferPhases.targets(of: event, in: phase) {
                case nil: to = "cannot happen"
                case .some(let set) where set.isEmpty: to = "ignored"
                case .some(let set):
                    to = names(set).map { $0 == name ? "the same" : $0 }.joined(separator: ", ")
                }
                if let index = cells.firstIndex(where: { $0.to == to }) {
                    cells[index].from.append(name)
                } else {
                    cells.append((to, [name]))
                }
            }
            for (to, from) in cells.sorted(by: { $0.to != "cannot happen" && $1.to == "cannot happen" }) {
                lines.append("| \(Simulation.name(of: event)) | \(from.joined(separator: ", ")) | \(to) |")
            }
        }
        return lines.joined(separator: "\n")
    }

    @Test("The diagram and the table of Documentation/Transfers.md are those of the code")
    func documentation() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Documentation/Transfers.md")
        var text = try String(contentsOf: page, encoding: .utf8)
        let written = text
        for (start, generated) in [
            ("```mermaid\n", diagram + "\n```"), ("<!-- table -->\n", table + "\n<!-- end -->"),
        ] {
            let end = start.hasPrefix("`") ? "\n```" : "\n<!-- end -->"
            let first = try #require(text.range(of: start)).upperBound
            let last = try #require(text.range(of: end, range: first..<text.endIndex)).upperBound
            text.replaceSubrange(first..<last, with: generated)
        }
        if ProcessInfo.processInfo.environment["UPDATE_TRANSFERS"] != nil {
            try text.write(to: page, atomically: true, encoding: .utf8)
        } else {
            #expect(
                written == text, "UPDATE_TRANSFERS=1 swift test --filter TransferTableTests writes it anew")
        }
    }

    @Test("Each state can be reached from the first, and the last from each")
    func reachable() {
        for (name, phase) in Self.phases where phase != .preparing {
            let ways = Self.phases.flatMap { from in
                Self.events.filter { TransferPhases.targets(of: $0, in: from.phase)?.contains(phase) == true }
            }
            #expect(!ways.isEmpty, "\(name)")
            #expect(phase == .consulting || TransferPhases.targets(of: .stop, in: phase) == .over, "\(name)")
        }
    }
}
