import Deferred
import DeferredTracing
import Foundation
import Interleaving

DeferredDiagnostics.setHandler { diagnostic in
    modelReports.append(ModelReport(diagnostic))
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
    classes: programs + objects,
    faults: URL(filePath: #filePath).appending(path: "../../../Faults").standardizedFileURL,
    switches: [.init("--record", "searches while a recording is active") { recordsRuns = true }]
) {
    // What the process creates once, before the first schedule: whether there was ever a finalizer, and the lock of scopes
    // that hold others.
    let warmUp = [
        ModelProgram(
            steps: [.source(id: 1, .plain, nil), .finally(id: 4, 1, [])],
            threads: (2...3).map { [.complete(id: $0, 1, through: .handle, .failure(.test(1))), .drop(1)] }),
        ModelProgram(
            steps: [
                .source(id: 1, .plain, nil), .attach(id: 11, to: 1, Callback(form: .then), keep: true),
                .finally(id: 4, 1, []), .pause(1),
            ],
            threads: [[.cancel(11)]]),
    ]
    for _ in 0..<3 { for program in warmUp { _ = program.judged(SearchOptions()) } }
}
explorer.run()
