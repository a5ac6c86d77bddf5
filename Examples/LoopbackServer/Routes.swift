/// The answers for each path.
final class Routes: Sendable {
    typealias Handler = @Sendable (Request) -> Answer

    private enum Route {
        case scripted([Answer])
        case handled(Handler)
        /// Answered after so many bytes of the body, of which the rest is not read.
        case early(Int, Answer)
    }

    private let routes = Monitor<[String: Route]>([:])
    private let fallback: Handler

    init(fallback: @escaping Handler) {
        self.fallback = fallback
    }

    func set(_ path: String, _ answers: [Answer]) {
        routes.withLock { $0[path] = .scripted(answers) }
    }

    func set(_ path: String, _ handler: @escaping Handler) {
        routes.withLock { $0[path] = .handled(handler) }
    }

    func set(_ path: String, after byteCount: Int, _ answer: Answer) {
        routes.withLock { $0[path] = .early(byteCount, answer) }
    }

    /// How much of the body of that request is read before it is answered; nil for all of it.
    func limit(of request: Request) -> Int? {
        routes.withLock { if case .early(let byteCount, _) = $0[request.path] { byteCount } else { nil } }
    }

    func answer(to request: Request) -> Answer {
        let path = request.path
        let (scripted, handler) = routes.withLock { routes -> (Answer?, Handler) in
            switch routes[path] {
            case .scripted(let answers):
                guard let first = answers.first else { return (nil, fallback) }
                if answers.count > 1 { routes[path] = .scripted(Array(answers.dropFirst())) }
                return (first, fallback)
            case .handled(let handler):
                return (nil, handler)
            case .early(_, let answer):
                return (answer, fallback)
            case nil:
                return (nil, fallback)
            }
        }
        return scripted ?? handler(request)
    }
}
