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
    }
}
