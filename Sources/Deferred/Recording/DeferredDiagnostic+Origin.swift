extension DeferredDiagnostic.Location {
    /// How a Deferred was created, in the bits of a location that no line number needs, so that storing it costs a link
    /// nothing.
    @usableFromInline
    package enum Origin: UInt32, Sendable {
        case other, source, resolver, settled, map, recover, both, pair, task, after, timeout, shielded, list
        case awaiting, blocking, then, done, orElse, fail, mapResult, thenResult, always, mapError
        /// No position of a chain: a link that works for another one.
        case hidden = 31

        @inlinable var bits: UInt32 { rawValue << 26 }

        /// Returns whether a closure attached this way runs with such an outcome, or is bypassed.
        func runs(onFailure isFailure: Bool) -> Bool {
            switch self {
            case .map, .then, .done: !isFailure
            case .recover, .orElse, .fail, .mapError: isFailure
            default: true
            }
        }
    }

    static let lineBits: UInt32 = 1 << 26 - 1
    private static let originBits: UInt32 = 31 << 26

    @inlinable
    @inline(__always)
    init(_ origin: Origin, _ fileID: StaticString, _ line: UInt) {
        let plain = DeferredDiagnostic.Location(fileID: fileID, line: line)
        self.init(file: plain.file, storedLine: plain.storedLine | origin.bits)
    }

    /// Returns the same location, for a link created there in another way.
    func of(_ origin: Origin) -> DeferredDiagnostic.Location {
        DeferredDiagnostic.Location(file: file, storedLine: storedLine & Self.lineBits | origin.bits)
    }

    var isHidden: Bool { storedLine & Self.originBits == Origin.hidden.bits }

    package var origin: Origin { Origin(rawValue: (storedLine & Self.originBits) >> 26) ?? .other }
}

extension DeferredDiagnostic.Location.Origin: CustomStringConvertible {
    /// The name of the function that created the Deferred, or nearly so.
    @usableFromInline
    package var description: String {
        switch self {
        case .other, .hidden: "Deferred"
        case .source: "Deferred()"
        case .resolver: "withResolver"
        case .settled: "resolved"
        case .map: "map"
        case .then: "then"
        case .done: "done"
        case .recover: "recover"
        case .orElse: "orElse"
        case .fail: "fail"
        case .mapError: "mapError"
        case .mapResult: "mapResult"
        case .thenResult: "thenResult"
        case .both: "both"
        case .always: "always"
        case .pair: "pair"
        case .task: "Task"
        case .after: "after"
        case .timeout: "timeout"
        case .shielded: "shielded"
        case .list: "list"
        case .awaiting: "await"
        case .blocking: "wait"
        }
    }
}
