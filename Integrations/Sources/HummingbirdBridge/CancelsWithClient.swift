public import Hummingbird

/// Cancels what answers a request when its client closes the connection: the Task that runs the handler, and so each
/// Deferred that the handler awaits.
///
/// ```swift
/// router.group("reports").add(middleware: CancelsWithClient())
///     .get(":name") { _, context in try await report(context.parameters.require("name")).value }
/// ```
///
/// To see that, Hummingbird reads on from the connection, which it therefore closes after the answer: put it where answers
/// take long. The connection is closed as well if a client half-closes it after its request, as few do.
public struct CancelsWithClient<Context: RequestContext>: RouterMiddleware {
    /// Creates the middleware.
    public init() {}

    /// Calls `next` in a Task that is cancelled when the connection is closed.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        try await request.body.consumeWithCancellationOnInboundClose { body in
            var request = request
            request.body = body
            return try await next(request, context)
        }
    }
}
