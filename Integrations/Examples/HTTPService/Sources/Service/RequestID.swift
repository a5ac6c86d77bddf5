import Deferred
import Hummingbird
import Logging

/// The id of the request that code belongs to, which each of its log lines has.
enum RequestID {
    @TaskLocal static var current: String?

    static let metadata = Logger.MetadataProvider { current.map { ["request": "\($0)"] } ?? [:] }
}

/// Makes the id of a request the current one while it is answered.
struct NamesRequests<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        try await RequestID.$current.withValue(context.id) { try await next(request, context) }
    }
}
