import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Diagnostics") struct Diagnostics {
        @Test("Diagnostics: each reads as one line: what happened, to which Deferred, made where")
        func messages() {
            let here = DeferredDiagnostic.Location(fileID: "Module/File.swift", line: 12)
            let there = DeferredDiagnostic.Location(fileID: "Module/Other.swift", line: 3)
            let all: [DeferredDiagnostic] = [
                .unhandledFailure(Boom(1), made: here),
                .alreadySettled(made: here, settledFirst: there, again: there),
                .alreadySettled(made: here, settledFirst: nil, again: there),
                .notCompletable(made: here, at: there),
                .unbalancedUnpause(made: here, at: there),
            ]
            for diagnostic in all {
                let text = "\(diagnostic)"
                #expect(text.contains("Module/File.swift:12"))
                #expect(!text.contains("\n"))
            }
            #expect(all.dropFirst().allSatisfy { "\($0)".contains("Module/Other.swift:3") })
            #expect("\(all[0])".contains("Boom"))
        }

        @Test(
            "Diagnostics: the innermost handler of a scope is called, in its Tasks too, and may use Deferreds"
        )
        func scopes() async {
            let (outer, inner) = (Log(), Log())
            @Sendable func unhandled(_ id: Int) { _ = Deferred<Int>.rejected(Boom(id)) }
            await DeferredDiagnostics.withHandler({ outer(words($0)) }) {
                unhandled(1)
                let answer = DeferredDiagnostics.withHandler({ report in
                    Deferred.resolved(1).done { _ in inner(words(report)) }
                }) {
                    unhandled(2)
                    return 5
                }
                #expect(answer == 5)
                await Task { unhandled(3) }.value
            }
            #expect(outer.all.map { $0.prefix(7) } == ["Boom(1)", "Boom(3)"])
            #expect(inner.all.map { $0.prefix(7) } == ["Boom(2)"])
        }

        @Test("Diagnostics: setHandler takes all from now on; nil restores the line on standard error")
        func setHandler() async throws {
            let result = try await #require(
                processExitsWith: .success, observing: [\.standardErrorContent]
            ) {
                let log = Log()
                DeferredDiagnostics.setHandler { log("\($0)") }
                _ = Deferred<Int>.rejected(Boom(1))
                onThread { _ = Deferred<Int>.rejected(Boom(2)) }
                precondition(log.all.count == 2)
                let inner = reports { _ = Deferred<Int>.rejected(Boom(3)) }
                precondition(inner.count == 1 && log.all.count == 2)
                DeferredDiagnostics.setHandler(nil)
                _ = Deferred<Int>.rejected(Boom(77))
                precondition(log.all.count == 2)
            }
            let text = String(decoding: result.standardErrorContent, as: UTF8.self)
            let lines = text.split(separator: "\n").filter { $0.contains("Boom") }
            #expect(lines.count == 1)
            #expect(lines.first?.contains("77") == true)
            #expect(lines.first?.contains("Diagnostics.swift:") == true)
        }

        @Test("Diagnostics: the handler costs no more, and no more stack, the more often it was called")
        func handlerCalledOften() async {
            await #expect(processExitsWith: .success) {
                DeferredDiagnostics.setHandler { _ in }
                let settled = Deferred.resolved(1)
                onThread(stackSize: 512 * 1024) { for _ in 0..<4 * Extent.depth { settled.resolve(2) } }
            }
        }

        @Test("Diagnostics: a handler that is replaced may report when it is released")
        func replacedHandlerReports() async {
            await #expect(processExitsWith: .success) {
                let log = Log()
                func setOne() {
                    let failed = Deferred<Int>.rejected(Boom(1))
                    DeferredDiagnostics.setHandler { _ in _ = failed }
                }
                setOne()
                DeferredDiagnostics.setHandler { log("\($0)") }
                precondition(log.all.count == 1)
            }
        }

        @Test("Description: says what a Deferred is waiting for, and where that was made")
        func descriptions() {
            let line = #line + 1
            let (source, inner) = (Deferred<Int>(), Deferred<Int>())
            let position = source.map { "\($0)" }
            for line in [line, line + 1] {
                #expect("\(position)".contains("Diagnostics.swift:\(line)"))
            }
            #expect("\(source)".contains("Deferred<Int>"))
            #expect("\(Deferred.resolved(0).then { _ in inner })".contains("nested"))
            let list = DeferredList([source, inner]).values()
            #expect("\(list)".contains("2 of a list of 2"))
            source.pause()
            #expect("\(source)".contains("paused"))
            source.unpause()
            source.resolve(42)
            #expect("\(source)".contains("42") && "\(list)".contains("1 of a list of 2"))
            #expect("\(Deferred<Int>.rejected(Boom(9)).finally { _ in })".contains("Boom"))
            let follower = Deferred<Int>()
            follower.follow(inner)
            #expect("\(follower)".contains("follow"))
            inner.resolve(1)
        }

        @Test("Debug description: a line for each link that a chain waits for, and each pending input")
        func debugDescriptions() {
            let line = #line + 1
            let (a, b, c) = (Deferred<Int>(), Deferred<Int>(), Deferred.resolved(3))
            let nested = c.then { _ in b }
            let dispatcher = ManualDispatcher()
            let handed = c.map(on: dispatcher) { $0 }
            let list = DeferredList([a, nested, c, handed, nested]).values()
            let last = list.map { $0.count }
            func place(_ offset: Int) -> String {
                "made at DeferredTests/Diagnostics.swift:\(line + offset))"
            }
            #expect(
                last.debugDescription.split(separator: "\n") == [
                    "Deferred<Int>: waits (map, \(place(5))",
                    "← waits for 4 of a list of 5 (list, \(place(4))",
                    "  0: waits to be completed (Deferred(), \(place(0))",
                    "  1: waits for a nested Deferred (then, \(place(1))",
                    "  ← waits to be completed (Deferred(), \(place(0))",
                    "  3: its callback waits on its dispatcher, ManualDispatcher (map, \(place(3))",
                    "  4: the same as above (then, \(place(1))",
                ])
            #expect(c.debugDescription == "Deferred<Int>: value 3 (resolved, \(place(0))")
            last.cancel()
            dispatcher.dropAll()
            keep(a, b, handed)
        }

        @Test("Debug description: of an endless chain it ends, and of two that are followed it has both")
        func debugDescriptionIsBounded() {
            let source = Deferred<Int>()
            var position = source
            for _ in 0..<5000 { position = position.map { $0 } }
            #expect(position.debugDescription.split(separator: "\n").count == 1001)
            let (first, second, follower) = (Deferred<Int>(), Deferred<Int>(), Deferred<Int>())
            follower.follow(first)
            follower.follow(second)
            #expect(follower.debugDescription.split(separator: "\n").count == 3)
            source.resolve(1)
            keep(first, second)
        }

        @Test("Errors: each says in words what it is")
        func errors() {
            let all: [DeferredError] = [.abandoned, .cycle, .empty, .timedOut, .invalidArgument("why")]
            for error in all { #expect(String(describing: error).contains(" ")) }
            #expect("\(DeferredError.invalidArgument("why"))".contains("why"))
            #expect(Set(all).count == 5)
        }
    }
}
