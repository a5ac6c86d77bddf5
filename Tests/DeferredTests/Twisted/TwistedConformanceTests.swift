import Foundation
import Testing

@Suite("What Twisted does")
struct TwistedConformanceTests {
    @Test(
        "F1-U1: a scenario that is not marked as different does what Twisted does",
        arguments: TwistedTraces.scenarios.filter { $0.differs == nil },
        Making.allCases)
    func sameAsTwisted(_ scenario: TwistedScenario, making: Making) throws {
        let trace = try Replayer.replay(scenario.program, making: making)
        #expect(trace == scenario.twisted)
    }

    @Test(
        "F1-U1: a scenario marked as different does what is written under it, and not what Twisted does",
        arguments: TwistedTraces.scenarios.filter { $0.differs != nil },
        Making.allCases)
    func partsFromTwisted(_ scenario: TwistedScenario, making: Making) throws {
        let difference = try #require(scenario.differs)
        let trace = try Replayer.replay(scenario.program, making: making)
        #expect(trace == difference.deferred, "\(difference.because)")
        #expect(trace != scenario.twisted, "no difference any more: take the mark away")
    }

    @Test(
        "L1-L4, C1-C4, P1: a random linear chain, written through its newest handle, runs as in Twisted",
        arguments: TwistedTraces.randomPrograms, Making.allCases)
    func randomProgram(_ program: RandomProgram, making: Making) throws {
        let trace = try Replayer.replay(program.program, making: making)
        #expect(trace == program.twisted, "\(program.program.joined(separator: "; "))")
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
