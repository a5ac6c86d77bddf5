/// Something that went wrong where no caller could be told by an error.
public enum DeferredDiagnostic: Sendable {
    /// A failure that nobody handled: no errback, no `await`, no look at `currentResult`, until the last
    /// handle went.
    case unhandledFailure(any Error, made: Location)
    /// A second result for a Deferred that had fired; it was dropped. `firedFirst` is where the first came
    /// from, if that was the same handle's or resolver's `resolve`, `reject` or `complete`.
    case alreadyFired(made: Location, firedFirst: Location?, again: Location)
    /// `resolve`, `reject`, `complete` or `follow` on a Deferred that cannot be fired by hand; nothing was
    /// changed.
    case notFireable(made: Location, at: Location)
    /// An `unpause()` without a `pause()` before it; nothing was changed.
    case unbalancedUnpause(made: Location, at: Location)

    /// A place in the source.
    public struct Location {
        @usableFromInline let file: UnsafePointer<UInt8>
        /// The line, and above it how a Deferred was made there (`OriginBits`). The highest bit is a link's
        /// own; see `Link.lineAndOwner`.
        @usableFromInline let storedLine: UInt32

        @inlinable
        init(file: UnsafePointer<UInt8>, storedLine: UInt32) {
            self.file = file
            self.storedLine = storedLine
        }
    }
}

/// Sound as `@unchecked Sendable`: `file` points to the bytes of a `StaticString`, which never change and
/// never go.
extension DeferredDiagnostic.Location: @unchecked Sendable {}

extension DeferredDiagnostic.Location: Hashable, CustomStringConvertible {
    /// A place, as `#fileID` and `#line` give it.
    @inlinable
    public init(fileID: StaticString = #fileID, line: UInt = #line) {
        file = fileID.hasPointerRepresentation ? fileID.utf8Start : Self.unknownFile.utf8Start
        storedLine = UInt32(truncatingIfNeeded: line) & (1 << 26 - 1)
    }

    @usableFromInline static var unknownFile: StaticString { "unknown" }

    /// Module and file, as `#fileID` gives them.
    public var fileID: String { String(cString: file) }

    /// The line, from 1.
    public var line: Int { Int(storedLine & Self.lineBits) }

    /// `Module/File.swift:12`
    public var description: String { "\(fileID):\(line)" }

    /// The same line of the same file.
    public static func == (a: Self, b: Self) -> Bool { a.line == b.line && a.fileID == b.fileID }

    /// Hashes file and line.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fileID)
        hasher.combine(line)
    }
}

extension DeferredDiagnostic: CustomStringConvertible {
    /// One line: what happened, to which Deferred, and where.
    public var description: String {
        switch self {
        case .unhandledFailure(let error, let made):
            "Deferred made at \(made) failed, and nobody handled it: \(error)"
        case .alreadyFired(let made, let firedFirst?, let again):
            "Deferred made at \(made) was fired at \(firedFirst) and again at \(again); the second result was dropped"
        case .alreadyFired(let made, nil, let again):
            "Deferred made at \(made) had its result already and was fired again at \(again); that result was dropped"
        case .notFireable(let made, let at):
            """
            Deferred made at \(made) cannot be fired by hand, as was tried at \(at): it gets its result from the chain or \
            from its Resolver
            """
        case .unbalancedUnpause(let made, let at):
            "Deferred made at \(made) was unpaused at \(at) without having been paused"
        }
    }
}

/// Where diagnostics go: by default one line each to standard error.
///
/// ```swift
/// DeferredDiagnostics.setHandler { diagnostic in
///     logger.error("\(diagnostic)")
/// }
/// ```
public enum DeferredDiagnostics {
    /// Takes a diagnostic, on whatever thread it arose.
    public typealias Handler = @Sendable (DeferredDiagnostic) -> Void

    private static let global = Guarded<BoxedHandler?>(nil)
    @TaskLocal private static var scoped: BoxedHandler?

    /// Sends all diagnostics from now on to `handler`, or with `nil` to standard error again.
    ///
    /// Safe from any thread. The handler runs on the thread on which the fault showed, for an unhandled
    /// failure that is the one that let the last handle go; it may use Deferreds.
    public static func setHandler(_ handler: Handler?) {
        var replaced = handler.map(BoxedHandler.init)
        global.withLock { swap(&$0, &replaced) }
        // What it holds goes after the lock: it may have something to report.
        _ = consume replaced
    }

    /// Sends the diagnostics that arise during `body`, on its thread or in its task and in tasks made there,
    /// to `handler`.
    ///
    /// Handlers nest; the innermost gets the diagnostic, and it alone.
    public static func withHandler<R>(_ handler: @escaping Handler, _ body: () throws -> R) rethrows -> R {
        try $scoped.withValue(BoxedHandler(handle: handler), operation: body)
    }

    /// As the synchronous form, for an asynchronous `body`, which runs on the caller's actor.
    public static func withHandler<R>(
        isolation: isolated (any Actor)? = #isolation, _ handler: @escaping Handler,
        _ body: () async throws -> R
    ) async rethrows -> R {
        try await $scoped.withValue(BoxedHandler(handle: handler), operation: body, isolation: isolation)
    }

    static func report(_ diagnostic: DeferredDiagnostic) {
        if let scoped {
            scoped.handle(diagnostic)
        } else if let handler = global.withLock({ $0 }) {
            handler.handle(diagnostic)
        } else {
            Platform.writeToStandardError("Deferred: \(diagnostic)")
        }
    }

    /// In a struct, a closure is passed through generic code as it is; bare, each pass would wrap it once more.
    private struct BoxedHandler: Sendable {
        let handle: Handler
    }
}
