import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Deferred

extension Rules {
    /// A value is delivered unchanged, whatever its type's size, alignment and references, on every path that
    /// it can take.
    @Suite("Rules L1 to L4: values of every kind of type") struct Values {
        struct Large: Sendable, Equatable {
            var a = 1, b = 2, c = 3, d = 4, e = 5
        }
        struct Mixed: Sendable, Equatable {
            var text = "a text that is too long to be kept inline"
            var numbers = [1, 2, 3]
        }
        struct OneReference: Sendable, Equatable { var numbers = [1] }
        struct Empty: Sendable, Equatable {}
        enum Choice: Sendable, Equatable {
            case none, number(Int), text(String)
            indirect case both(Choice, Choice)
        }
        class Base: @unchecked Sendable {}
        final class Derived: Base, @unchecked Sendable {}
        protocol Named: Sendable { var name: String { get } }
        struct Short: Named { var name: String { "short" } }
        struct Long: Named {
            var parts = ["a", "b", "c", "d"], more = Large()
            var name: String { parts.joined() }
        }

        /// Sends a value through links, a nested wait, a dispatcher, a list, a follower, a shield and a
        /// pause.
        private func roundTrip<Value: Sendable>(_ value: Value, _ isEqual: (Value) -> Bool, line: Int = #line)
        {
            let source = Deferred<Value>()
            let inner = Deferred<Value>()
            let follower = Deferred<Value>()
            follower.follow(inner)
            let ways: [Deferred<Value>] = [
                source, source.map { $0 }, source.recover { throw $0 }, source.mapResult { try $0.get() },
                source.map { Optional($0) }.map { $0! }, source.map { [$0] }.map { $0[0] },
                source.map(on: InlineDispatcher()) { $0 }, source.then { _ in inner }, follower,
                DeferredList([source, inner]).values().map { $0[1] },
                DeferredList([source]).results().map { try $0[0].get() },
                DeferredList([source]).first().map { $0.value },
                gather(source, inner).map { $0.0 }, source.shielded(), Deferred(catching: { value }),
                Deferred { $0.resolve(value) }, Deferred.resolved(value),
                Deferred.resolved(0).thenReturn(value),
            ]
            let paused = source.map { $0 }
            paused.pause()
            let held = paused.map { $0 }
            source.resolve(value)
            inner.resolve(value)
            paused.unpause()
            for way in ways + [held] {
                guard let got = try? way.currentResult?.get() else {
                    Issue.record("a value is missing, of line \(line)")
                    continue
                }
                #expect(isEqual(got), "a value of line \(line)")
                #expect(!way.description.isEmpty)
            }
        }

        @Test("L1: numbers, tuples, structs small and large, aligned and empty")
        func plain() {
            roundTrip(1) { $0 == 1 }
            roundTrip(UInt8(200)) { $0 == 200 }
            roundTrip(true) { $0 }
            roundTrip(()) { _ in true }
            roundTrip((1, UInt8(2), 3.5)) { $0 == (1, 2, 3.5) }
            roundTrip((1, 2, 3, 4)) { $0 == (1, 2, 3, 4) }
            roundTrip(Large()) { $0 == Large() }
            roundTrip(Empty()) { $0 == Empty() }
            roundTrip(SIMD4<Float>(1, 2, 3, 4)) { $0 == SIMD4(1, 2, 3, 4) }
            roundTrip(SIMD8<Double>(repeating: 2)) { $0 == SIMD8(repeating: 2) }
            roundTrip(Optional<Int>.none) { $0 == nil }
            roundTrip(Optional<Int?>.some(nil)) { $0 == .some(nil) }
            roundTrip(Int128.max) { $0 == Int128.max }
            roundTrip(Int.self as Int.Type) { $0 == Int.self }
        }

        @Test("L1: strings, arrays, enums, optionals, results, Deferreds and closures")
        func withReferences() {
            roundTrip("short") { $0 == "short" }
            roundTrip("a text that is too long to be kept inline") { $0.hasSuffix("inline") }
            roundTrip([1, 2, 3]) { $0 == [1, 2, 3] }
            roundTrip(OneReference()) { $0 == OneReference() }
            roundTrip(Mixed()) { $0 == Mixed() }
            roundTrip(Choice.both(.number(1), .text("two"))) { $0 == .both(.number(1), .text("two")) }
            roundTrip(Optional("a")) { $0 == "a" }
            roundTrip(Optional<String>.none) { $0 == nil }
            roundTrip(["a": Mixed()]) { $0 == ["a": Mixed()] }
            roundTrip(Result<Int, Boom>.failure(Boom(1))) { $0 == .failure(Boom(1)) }
            roundTrip(Result<String, any Error>.success("a")) { (try? $0.get()) == "a" }
            let number = Box(1)
            let closure: @Sendable () -> Int = { number.value }
            roundTrip(closure) { $0() == 1 }
        }

        @Test("L1: objects, by their class, a base class, a protocol, and optional")
        func objects() {
            let derived = Derived()
            roundTrip(derived) { $0 === derived }
            roundTrip(derived as Base) { $0 === derived }
            roundTrip(Optional<Derived>.none) { $0 == nil }
        }

        @Test(
            "L1: a class as Sendable comes out of specialised and of unspecialised code",
            .ownThreads)
        func classAndProtocol() throws {
            let derived = Derived()
            roundTrip(derived as Base & Sendable) { $0 === derived }
            // `init(operation:)` and `wait()` are compiled in the library, `currentResult` in this module.
            let deferred = Deferred<Base & Sendable>(operation: { derived })
            #expect(try deferred.wait() === derived)
            #expect(try deferred.currentResult?.get() === derived)
        }

        @Test("L1: existentials are returned as existentials, with their contents")
        func existentials() {
            roundTrip(Short() as any Named) { $0.name == "short" }
            roundTrip(Long() as any Named) { $0.name == "abcd" }
            roundTrip(Boom(1) as any Error) { ($0 as? Boom) == Boom(1) }
            roundTrip(5 as any Sendable) { ($0 as? Int) == 5 }
            roundTrip("text" as any Sendable) { ($0 as? String) == "text" }
            roundTrip(Mixed() as any Sendable) { ($0 as? Mixed) == Mixed() }
            roundTrip(Derived() as any Sendable) { $0 is Derived }
            roundTrip(Optional<any Named>.some(Long())) { $0?.name == "abcd" }
            roundTrip((Short() as any Named, 1)) { $0.0.name == "short" && $0.1 == 1 }
            roundTrip(5 as any Sendable & Hashable) { $0 as? Int == 5 }
        }

        @Test("C6: an await returns values of every kind")
        func awaited() async throws {
            #expect(try await Deferred.resolved(Large()).value == Large())
            let later = Deferred<any Named>()
            async let awaited = later.value
            later.resolve(Long())
            #expect(try await awaited.name == "abcd")
            #expect(try await Deferred.resolved(Mixed()).value == Mixed())
        }

        @Test("A2: a value with references is released with the last link that retains it")
        func freed() {
            let tracker = LeakTracker()
            do {
                struct Two: Sendable { let one, two: LeakTracker.Tracked }
                let source = Deferred<Two>()
                let position = source.map { $0 }.map { $0.one }.map { $0 as any Sendable }
                let list = DeferredList([source, source]).values()
                let results = DeferredList([position]).results()
                source.resolve(Two(one: tracker.begin(), two: tracker.begin()))
                #expect(tracker.alive == 2)
                keep(position, list, results)
            }
            #expect(tracker.alive == 0)
        }
    }
}

extension Rules {
    /// Arithmetic that depends on the size of a word, checked for other word sizes.
    @Suite("Word sizes") struct WordSizes {
        @Test("T1: a value is stored in the words of a link only if it fits, with words of 32 and of 64 bits")
        func values() {
            func fits(_ size: Int, _ alignment: Int, _ bits: Int) -> Bool {
                bits == 32
                    ? Payload.fits(size: size, alignment: alignment, inWordsOf: UInt32.self)
                    : Payload.fits(size: size, alignment: alignment, inWordsOf: UInt64.self)
            }
            #expect(fits(12, 4, 32) && !fits(13, 4, 32) && !fits(24, 4, 32))
            #expect(fits(24, 8, 64) && !fits(25, 8, 64))
            // Less would be misaligned.
            #expect(!fits(8, 8, 32) && !fits(16, 16, 64))
            #expect(
                Payload.fitsInWords(Int.self) && !Payload.fitsInWords((Int, Int, Int, Int).self))
        }
    }
}
