import Foundation
import TestSupport
import Testing

@Suite("What Twisted does", .watchdog)
struct TwistedConformanceTests {
    @Test(
        "F1-U1: a scenario that is not marked as different does what Twisted does", arguments: Making.allCases
    )
    func sameAsTwisted(making: Making) throws {
        var faults = Faults()
        for scenario in TwistedTraces.scenarios where scenario.differs == nil {
            let trace = try Replayer.replay(scenario.program, making: making)
            faults.check(
                trace == scenario.twisted, "\(scenario.testDescription): \(trace), not \(scenario.twisted)")
        }
        faults.report()
    }

    @Test(
        "F1-U1: a scenario marked as different does what is written under it, and not what Twisted does",
        arguments: Making.allCases)
    func partsFromTwisted(making: Making) throws {
        var faults = Faults()
        for scenario in TwistedTraces.scenarios {
            guard let difference = scenario.differs else { continue }
            let trace = try Replayer.replay(scenario.program, making: making)
            faults.check(
                trace == difference.deferred,
                "\(scenario.testDescription): \(trace), not \(difference.deferred)")
            faults.check(
                trace != scenario.twisted,
                "\(scenario.testDescription): no difference any more: take the mark away")
        }
        faults.report()
    }

    @Test(
        "L1-L4, C1-C4, P1: a random linear chain, written through its newest handle, runs as in Twisted",
        arguments: Making.allCases)
    func randomProgram(making: Making) throws {
        var faults = Faults()
        for program in TwistedTraces.randomPrograms {
            let trace = try Replayer.replay(program.program, making: making)
            let text = program.program.joined(separator: "; ")
            faults.check(trace == program.twisted, "\(text): \(trace), not \(program.twisted)")
        }
        faults.report()
    }

    @Test("The recording is whole: made with the pinned Twisted, of every rule that Twisted has too")
    func recordingIsWhole() throws {
        let recording = try TwistedTraces.recorded.get()
        let requirements = try String(
            contentsOf: TwistedTraces.folder.appending(path: "requirements.txt"), encoding: .utf8)
        #expect(requirements.contains(recording.recordedWith.replacing(" ", with: "==")))
        #expect(recording.scenarios.count >= 200)
        #expect(recording.randomPrograms.count >= 400)
        let rules = Set(recording.scenarios.map(\.rule))
        let shared = "F1 F2 F3 F4 F5 L1 L2 L3 L4 L5 C1 C2 C3 C4 C5 P1 A1 U1 D1 D2 D3 D4"
        #expect(rules.isSuperset(of: shared.split(separator: " ").map(String.init)))
        let partings = Set(recording.scenarios.compactMap { $0.differs?.by })
        #expect(partings == Set(Parting.allCases))
    }
}
