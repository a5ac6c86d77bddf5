import CInterleaving
import Deferred
import DeferredTracing

/// A recording that is switched on and off meanwhile changes nothing.
func defineRecordingScenarios() {
    scenario("recording-start-resolve-cancel", includesGlobals: true) {
        let d = D(), log = Log()
        let c = d.map { v -> Int in
            log.within("c"); return v
        }
        return Program(
            {
                let recording = DeferredDiagnostics.startRecording()
                recording.stop()
            }, { d.resolve(1) }, { c.cancel() }
        ) {
            let result = show(c.currentResult)
            return all(expect(result == (log.has("c") ? "1" : "cancelled"), result + log.text), noReports())
        }
    }
    scenario("recording-start-attach-resolve", includesGlobals: true) {
        let d = D(), log = Log()
        return Program(
            {
                let recording = DeferredDiagnostics.startRecording()
                recording.stop()
                _ = recording.events()
            }, { d.done { log.within("a\($0)") } }, { d.resolve(1) }
        ) { all(expect(log.text == "a1", log.text), noReports()) }
    }
    scenario("recording-two", includesGlobals: true) {
        let d = D(), log = Log()
        let first = Box<DeferredRecording>(DeferredDiagnostics.startRecording())
        return Program(
            { first.value!.stop() }, { d.done { log.within("a\($0)") }.finally { _ in log.add("F") } },
            { d.resolve(1) }
        ) {
            hold(first)
            return all(expect(log.text == "a1 F", log.text), noReports())
        }
    }
}
