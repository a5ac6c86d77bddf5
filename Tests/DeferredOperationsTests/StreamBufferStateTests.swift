import Deferred
import Foundation
import Testing

@testable import DeferredOperations

/// The transitions of a stream's buffer, without threads.
@Suite("StreamBuffer.State")
struct StreamBufferStateTests {
    private struct Failed: Error {}

    enum Event: String, Sendable {
        case append, appendUnpausable, appendEmpty, wait, deliver, end, fail, cancel, setOnRoom, note,
            throwFailure

        func answer(_ state: inout StreamBuffer.State) -> String {
            switch self {
            case .append:
                return (try? state.append(Data(count: 4), mayPause: true)).map { "\($0)" } ?? "throws"
            case .appendUnpausable:
                return (try? state.append(Data(count: 4), mayPause: false)).map { "\($0)" } ?? "throws"
            case .appendEmpty: return (try? state.append(Data(), mayPause: true)).map { "\($0)" } ?? "throws"
            case .wait:
                state.wait { _ in }
                return "waits"
            case .deliver:
                guard case .delivers(let taken, _, let onRoom) = state.deliver() else { return "nothing" }
                let room = onRoom == nil ? "" : ", room"
                return switch taken {
                case .success(let pieces): "\(pieces.reduce(0) { $0 + $1.count })" + room
                case .failure(let error): (error is CancellationError ? "cancelled" : "failed") + room
                }
            case .end: return Self.describe(state.end(nil))
            case .fail: return Self.describe(state.end(Failed()))
            case .cancel: return Self.describe(state.end(CancellationError()))
            case .setOnRoom:
                state.setOnRoom {}
                return "set"
            case .note: return "\(state.note(.never()))"
            case .throwFailure: return state.throwFailure() == nil ? "none" : "a request"
            }
        }

        private static func describe(_ ending: consuming StreamBuffer.State.Ending) -> String {
            switch ending {
            case .isLate: "isLate"
            case .ends(let onRoom, let request):
                "ends" + (onRoom == nil ? "" : ", room") + (request == nil ? "" : ", request")
            }
        }
    }

    /// Events, each with what it leads to, of a buffer with 4 bytes in memory that pauses at 8 in its file.
    private static let rows: [[(Event, String)]] = [
        [(.deliver, "nothing"), (.wait, "waits"), (.deliver, "nothing")],
        [
            (.append, "continues"), (.deliver, "nothing"), (.wait, "waits"), (.deliver, "4"),
            (.deliver, "nothing"),
        ],
        [(.appendEmpty, "continues"), (.wait, "waits"), (.deliver, "nothing")],
        // Consumers are served one after the other, and what is in memory comes before what is in the file.
        [
            (.setOnRoom, "set"), (.append, "continues"), (.append, "continues"), (.append, "pauses"),
            (.wait, "waits"), (.wait, "waits"), (.wait, "waits"), (.wait, "waits"),
            (.deliver, "4"), (.deliver, "4"), (.deliver, "4, room"), (.deliver, "nothing"),
            (.end, "ends, room"), (.deliver, "0"), (.deliver, "nothing"),
        ],
        [
            (.setOnRoom, "set"), (.append, "continues"), (.append, "continues"),
            (.appendUnpausable, "continues"),
            (.wait, "waits"), (.wait, "waits"), (.wait, "waits"), (.deliver, "4"), (.deliver, "4"),
            (.deliver, "4"),
        ],
        // Whoever waits for the end receives it; what came before is delivered before.
        [
            (.append, "continues"), (.end, "ends"), (.append, "continues"), (.wait, "waits"), (.deliver, "4"),
            (.wait, "waits"), (.deliver, "0"),
        ],
        [
            (.append, "continues"), (.fail, "ends"), (.wait, "waits"), (.deliver, "4"), (.wait, "waits"),
            (.deliver, "failed"),
        ],
        [(.end, "ends"), (.fail, "isLate"), (.wait, "waits"), (.deliver, "0")],
        // A cancel comes after the end, too, and drops what waits.
        [(.append, "continues"), (.cancel, "ends"), (.wait, "waits"), (.deliver, "cancelled")],
        [
            (.append, "continues"), (.end, "ends"), (.cancel, "ends"), (.wait, "waits"),
            (.deliver, "cancelled"),
        ],
        // U1: the request is retained until its failure was thrown, or it has none.
        [(.note, "retains"), (.end, "ends, request"), (.throwFailure, "none")],
        [(.note, "retains"), (.fail, "ends"), (.throwFailure, "a request"), (.throwFailure, "none")],
        [(.throwFailure, "none"), (.note, "wasThrown")],
    ]

    @Test("each event leads where the table says", arguments: rows.indices)
    func transitions(row: Int) {
        var state = StreamBuffer.State(limit: 4, pauseByteCount: 8, isOver: false)
        for (step, (event, answer)) in Self.rows[row].enumerated() {
            #expect(event.answer(&state) == answer, "step \(step), \(event)")
        }
    }
}
