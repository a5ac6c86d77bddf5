import Deferred

/// Task-local values as a server has them, for `--carry`.
enum CarriedKeys {
    @TaskLocal private static var requestID = ""
    @TaskLocal private static var tenant: Int?
    @TaskLocal private static var span: Span?

    private final class Span: Sendable {}

    /// Has closures carry the first `count` of them.
    static func carry(_ count: Int) {
        if count > 0 { DeferredTaskLocals.carry($requestID) }
        if count > 1 { DeferredTaskLocals.carry($tenant) }
        if count > 2 { DeferredTaskLocals.carry($span) }
    }

    /// Runs `body`, where they have values.
    static func bound<R>(_ body: () throws -> R) rethrows -> R {
        try $requestID.withValue("7f3a91c2-request") {
            try $tenant.withValue(7) { try $span.withValue(Span(), operation: body) }
        }
    }
}
