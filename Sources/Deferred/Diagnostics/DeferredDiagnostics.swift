/// A mistake that no caller can receive as an error.
public enum DeferredDiagnostic: Sendable {
    /// A failure that nothing handled: no errback, no `await`, no reading of `currentResult`, until the last handle was
    /// released.
    case unhandledFailure(any Error, made: Location)
    /// A second completion of a Deferred, which was ignored. `settledFirst` is the location of the first, if that was a
    /// `resolve`, `reject` or `complete` of the same handle or resolver.
    case alreadySettled(made: Location, settledFirst: Location?, again: Location)
    /// A `resolve`, `reject`, `complete` or `follow` on a Deferred that cannot be completed explicitly, which was
    /// ignored.
    case notCompletable(made: Location, at: Location)
    /// An `unpause()` without a matching `pause()`, which was ignored.
    case unbalancedUnpause(made: Location, at: Location)

    /// A location in the source.
    public struct Location {
        @usableFromInline package let file: UnsafePointer<UInt8>
        /// The line, and above it how a Deferred was made there (`Origin`). The highest bit is a link's
        /// own; see `Link.lineAndOwner`.
        @usableFromInline let storedLine: UInt32

        @inlinable
        init(file: UnsafePointer<UInt8>, storedLine: UInt32) {
            self.file = file
            self.storedLine = storedLine
        }
    }
}

/// Sound as `@unchecked Sendable`: `file` points to the bytes of a `StaticString`, which never change and are
/// never deallocated; for the same reason it may be read as long as the program runs.
extension DeferredDiagnostic.Location: @unchecked Sendable {}

extension DeferredDiagnostic.Location: Hashable, CustomStringConvertible {
    /// Creates a location; by default that of the call.
    @inlinable
    public init(fileID: StaticString = #fileID, line: UInt = #line) {
        file = fileID.hasPointerRepresentation ? fileID.utf8Start : Self.unknownFile.utf8Start
        storedLine = UInt32(truncatingIfNeeded: line) & (1 << 26 - 1)
    }

    @usableFromInline static var unknownFile: StaticString { "unknown" }

    /// Module and file, as in `#fileID`.
    public var fileID: String { String(cString: file) }

    /// The line, from 1.
    public var line: Int { Int(storedLine & Self.lineBits) }

    /// `Module/File.swift:12`
    public var description: String { "\(fileID):\(line)" }

    /// Returns whether both are the same line of the same file.
    public static func == (a: Self, b: Self) -> Bool { a.line == b.line && a.fileID == b.fileID }

    /// Hashes file and line.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fileID)
        hasher.combine(line)
    }
}

extension DeferredDiagnostic: CustomStringConvertible {
    /// Describes in one line what happened, to which Deferred, and where.
    public var description: String {
        switch self {
        case .unhandledFailure(let error, let made):
            "unhandled failure of the Deferred made at \(made): \(error)"
        case .alreadySettled(let made, let settledFirst?, let again):
            "completion at \(again) ignored: the Deferred made at \(made) was completed before, at \(settledFirst)"
        case .alreadySettled(let made, nil, let again):
            "completion at \(again) ignored: the Deferred made at \(made) was already settled"
        case .notCompletable(let made, let at):
            "completion at \(at) ignored: the Deferred made at \(made) is completed by its chain or its Resolver"
        case .unbalancedUnpause(let made, let at):
            "unpause() at \(at) ignored: the Deferred made at \(made) is not paused"
        }
    }
}

/// Delivers diagnostics, by default as one line each on standard error.
///
/// ```swift
/// DeferredDiagnostics.setHandler { diagnostic in
///     logger.error("\(diagnostic)")
/// }
/// ```
public enum DeferredDiagnostics {
    /// A closure that receives a diagnostic, on the thread on which it arose.
    public typealias Handler = @Sendable (DeferredDiagnostic) -> Void

    private static let global = SpinLocked<BoxedHandler?>(nil)
    @TaskLocal private static var scoped: BoxedHandler?

    /// Sends all further diagnostics to `handler`, or with `nil` to standard error again.
    ///
    /// May be called from any thread. The handler runs on the thread on which the diagnostic arose, which for an
    /// unhandled failure is the one that released the last handle. It may use Deferreds.
    public static func setHandler(_ handler: Handler?) {
        // The one before is released outside of the lock: the release may itself report a diagnostic.
        _ = global.exchange { _ in handler.map(BoxedHandler.init) }
    }

    /// Runs `body` and sends the diagnostics that arise meanwhile, on its thread or in its task and in tasks created
    /// there, to `handler`.
    ///
    /// Handlers nest; only the innermost receives a diagnostic.
    public static func withHandler<R>(_ handler: @escaping Handler, _ body: () throws -> R) rethrows -> R {
        try $scoped.withValue(BoxedHandler(handle: handler), operation: body)
    }

    /// Runs an asynchronous `body`, on the caller's actor; otherwise as the synchronous form.
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
