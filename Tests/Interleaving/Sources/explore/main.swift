import Deferred
import DeferredTracing
import Foundation
import Interleaving

DeferredDiagnostics.setHandler { diagnostic in
    Run.report(diagnostic)
    switch diagnostic {
    case .unhandledFailure(let error, _): reports.append("unhandled:\(show(error))")
    case .alreadySettled: reports.append("alreadySettled")
    case .notCompletable: reports.append("notCompletable")
    case .unbalancedUnpause: reports.append("unbalancedUnpause")
    }
}
Explorer.aroundRun = {
    reports = []
    let recording = startRecording()
    return {
        recording?.stop()
        AwaitProbe.forgetAll()
    }
}
defineChainsScenarios()
defineCoordinationScenarios()
defineMulticastScenarios()
defineAnswersScenarios()

let programs = ProgramClass.all.map { programs in
    SearchedClass(programs.name, random: programs.links.isEmpty ? nil : { programs.randomProgram(seed: $0) })
    {
        programs.forEachProgram(ofSize: $0, $1)
    }
}
let objects = ObjectClass.all.map { object in
    SearchedClass(object.name) { size, body in _ = size < 2 || object.histories(ofSize: size).allSatisfy(body)
    }
}
let explorer = Explorer(
    classes: programs + combinedPrograms() + objects,
    faults: URL(filePath: #filePath).appending(path: "../../../Faults").standardizedFileURL,
    switches: [.init("--record", "searches while a recording is active") { recordsRuns = true }]
) {
    // What the process creates once, before the first schedule: whether there was ever a finalizer, and the lock of scopes
    // that hold others.
    let warmUp = [
        UserProgram(
            steps: [.source(1, .handle, canceller: nil), .finally(4, of: 1, [])],
            threads: (2...3).map { [.complete($0, target: 1, fails: true), .drop(1)] }),
        UserProgram(
            steps: [
                .source(1, .handle, canceller: nil), .link(11, to: 1, .value, on: .here, Script()),
                .finally(4, of: 1, []), .pause(1),
            ],
            threads: [[.cancel(11)]]),
    ]
    for _ in 0..<3 { for program in warmUp { _ = program.judged(SearchOptions()) } }
}
explorer.run()
