extension DeferredDiagnostic.Location {
    /// How a Deferred was made, in the bits of a location that no line number needs: so a link knows it, at
    /// no cost.
    @usableFromInline
    struct OriginBits: Equatable {
        @usableFromInline let bits: UInt32

        @inlinable
        init(_ number: UInt32) { bits = number << 26 }

        @inlinable static var other: OriginBits { OriginBits(0) }
        @inlinable static var source: OriginBits { OriginBits(1) }
        @inlinable static var resolver: OriginBits { OriginBits(2) }
        @inlinable static var settled: OriginBits { OriginBits(3) }
        @inlinable static var then: OriginBits { OriginBits(4) }
        @inlinable static var fail: OriginBits { OriginBits(5) }
        @inlinable static var both: OriginBits { OriginBits(6) }
        @inlinable static var pair: OriginBits { OriginBits(7) }
        @inlinable static var task: OriginBits { OriginBits(8) }
        @inlinable static var after: OriginBits { OriginBits(9) }
        @inlinable static var timeout: OriginBits { OriginBits(10) }
        @inlinable static var shielded: OriginBits { OriginBits(11) }
        @inlinable static var list: OriginBits { OriginBits(12) }
        @inlinable static var awaiting: OriginBits { OriginBits(13) }
        @inlinable static var blocking: OriginBits { OriginBits(14) }
        /// No position of a chain: it is there for another link.
        @inlinable static var hidden: OriginBits { OriginBits(31) }
    }

    static let lineBits: UInt32 = 1 << 26 - 1
    private static let originBits: UInt32 = 31 << 26

    @inlinable
    @inline(__always)
    init(_ origin: OriginBits, _ fileID: StaticString, _ line: UInt) {
        let plain = DeferredDiagnostic.Location(fileID: fileID, line: line)
        self.init(file: plain.file, storedLine: plain.storedLine | origin.bits)
    }

    /// The same place, for a link made there in another way.
    func of(_ origin: OriginBits) -> DeferredDiagnostic.Location {
        DeferredDiagnostic.Location(file: file, storedLine: storedLine & Self.lineBits | origin.bits)
    }

    var isHidden: Bool { storedLine & Self.originBits == OriginBits.hidden.bits }

    var origin: DeferredRecording.Origin {
        let number = Int((storedLine & Self.originBits) >> 26)
        return number < Self.origins.count ? Self.origins[number] : .other
    }

    /// By the numbers in `OriginBits`.
    private static let origins: [DeferredRecording.Origin] = [
        .other, .source, .resolver, .settled, .then, .fail, .both, .pair, .task, .after, .timeout, .shielded,
        .list, .awaiting, .blocking,
    ]
}
