import Dispatch
import Testing

@testable import Deferred

private typealias Payload = Link.Payload

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

        @Test("T1: a delay keeps its length where an Int has 32 bits")
        func delays() {
            func interval(_ duration: Duration) -> DispatchTimeInterval {
                DispatchTimeInterval(duration, countedIn: Int32.self)
            }
            #expect(interval(.seconds(2)) == .nanoseconds(2_000_000_000))
            #expect(interval(.seconds(10)) == .microseconds(10_000_000))
            #expect(interval(.seconds(3_600)) == .milliseconds(3_600_000))
            #expect(interval(.seconds(86_400 * 365)) == .seconds(86_400 * 365))
            #expect(interval(.seconds(1 << 31)) == .never)
            #expect(interval(.seconds(-1)) == .nanoseconds(0))
        }

        @Test("T1: a delay is rounded up, to the nanosecond where an Int has 64 bits")
        func rounding() {
            #expect(DispatchTimeInterval(.seconds(10)) == .nanoseconds(10_000_000_000))
            #expect(
                DispatchTimeInterval(Duration(secondsComponent: 0, attosecondsComponent: 1))
                    == .nanoseconds(1))
            #expect(DispatchTimeInterval(.seconds(Int64.max)) == .never)
        }
    }
}
