extension DeferredDiagnostic {
    /// How a Deferred was created. Further ways may be added: a `switch` needs a `default`.
    public struct Origin: Sendable, Hashable, CustomStringConvertible {
        /// The name of the function that created the Deferred, or nearly so.
        public let description: String

        private init(_ name: String) { description = name }

        /// In another way.
        public static let other = Origin("Deferred")
        /// `Deferred()` or `Deferred(canceller:)`.
        public static let source = Origin("Deferred()")
        /// `Deferred { resolver in … }` or `withResolver`.
        public static let resolver = Origin("withResolver")
        /// `resolved`, `rejected` or `Deferred(catching:)`.
        public static let settled = Origin("resolved")
        /// `map`, with a callback alone.
        public static let map = Origin("map")
        /// `then`, with a callback alone.
        public static let then = Origin("then")
        /// `done`, with a callback alone.
        public static let done = Origin("done")
        /// `recover`.
        public static let recover = Origin("recover")
        /// `orElse`.
        public static let orElse = Origin("orElse")
        /// `fail`.
        public static let fail = Origin("fail")
        /// `mapError`.
        public static let mapError = Origin("mapError")
        /// `mapResult`.
        public static let mapResult = Origin("mapResult")
        /// `thenResult`.
        public static let thenResult = Origin("thenResult")
        /// `both`.
        public static let both = Origin("both")
        /// `always`.
        public static let always = Origin("always")
        /// `map(_:recover:)`, `then(_:orElse:)` or `done(_:fail:)`.
        public static let pair = Origin("pair")
        /// `Deferred { try await … }`.
        public static let task = Origin("Task")
        /// `after`.
        public static let after = Origin("after")
        /// `timeout`.
        public static let timeout = Origin("timeout")
        /// `shielded()`.
        public static let shielded = Origin("shielded")
        /// `DeferredList`'s `results`, `values`, `first` or `completed`, and `gather`.
        public static let list = Origin("list")
        /// A Task that awaits a Deferred, by where that was made.
        public static let awaiting = Origin("await")
        /// A thread in `wait`.
        public static let blocking = Origin("wait")

        /// Returns whether a closure attached this way runs with such an outcome, or is bypassed.
        func runs(onFailure isFailure: Bool) -> Bool {
            switch self {
            case .map, .then, .done: !isFailure
            case .recover, .orElse, .fail, .mapError: isFailure
            default: true
            }
        }
    }
}

extension DeferredDiagnostic.Location {
    /// How a Deferred was created, in the bits of a location that no line number needs, so that storing it costs a link
    /// nothing.
    @usableFromInline
    enum OriginBits: UInt32 {
        case other, source, resolver, settled, map, recover, both, pair, task, after, timeout, shielded, list
        case awaiting, blocking, then, done, orElse, fail, mapResult, thenResult, always, mapError
        /// No position of a chain: a link that works for another one.
        case hidden = 31

        @inlinable var bits: UInt32 { rawValue << 26 }
    }

    static let lineBits: UInt32 = 1 << 26 - 1
    private static let originBits: UInt32 = 31 << 26

    @inlinable
    @inline(__always)
    init(_ origin: OriginBits, _ fileID: StaticString, _ line: UInt) {
        let plain = DeferredDiagnostic.Location(fileID: fileID, line: line)
        self.init(file: plain.file, storedLine: plain.storedLine | origin.bits)
    }

    /// Returns the same location, for a link created there in another way.
    func of(_ origin: OriginBits) -> DeferredDiagnostic.Location {
        DeferredDiagnostic.Location(file: file, storedLine: storedLine & Self.lineBits | origin.bits)
    }

    var isHidden: Bool { storedLine & Self.originBits == OriginBits.hidden.bits }

    package var origin: DeferredDiagnostic.Origin {
        let number = Int((storedLine & Self.originBits) >> 26)
        return number < Self.origins.count ? Self.origins[number] : .other
    }

    /// By the numbers in `OriginBits`.
    private static let origins: [DeferredDiagnostic.Origin] = [
        .other, .source, .resolver, .settled, .map, .recover, .both, .pair, .task, .after, .timeout,
        .shielded,
        .list, .awaiting, .blocking, .then, .done, .orElse, .fail, .mapResult, .thenResult, .always,
        .mapError,
    ]
}
