public import Deferred
public import Foundation

extension StubTransport {
    /// What happens after a request.
    public enum Step: Sendable {
        /// A status and headers.
        case head(Int, [String: String] = [:])
        /// A piece of the body.
        case bytes(Data)
        /// So many bytes of the request's body have been sent, in all.
        case sent(Int64)
        /// The exchange ends in order.
        case end
        /// The exchange ends with an error.
        case fail(any Error)
        /// Any event: also one that a correct transport does not report.
        case event(TransportEvent)
        /// Nothing happens until a Deferred is resolved; if it is rejected, the exchange ends with its error. A cancel
        /// of the request does not cancel it.
        case wait(Deferred<Void>)
        /// Nothing happens for so long, by the timer of the transport.
        case delay(Duration)
        /// Calls a closure with the exchange, which it may keep, to report events when it likes. It runs where the step
        /// before it was made.
        case call(@Sendable (TransportExchange) -> Void)
    }

    /// What is answered to a request: steps, one after another.
    public struct Answer: Sendable {
        private var steps: [Step]
        /// Whether the answer to a HEAD has no body.
        private var isProper = false

        /// Creates an answer of steps in any order. Without an `end`, the exchange stays open until it is cancelled.
        public init(_ steps: [Step]) { self.steps = steps }

        /// Answers with a status, headers, and a body whose length is announced, unless the headers have a
        /// `Transfer-Encoding` or a length.
        ///
        /// - Parameter pieces: How many pieces the body arrives in: 1 or more.
        public static func answer(
            _ status: Int = 200, headers: [String: String] = [:], body: Data = Data(), pieces: Int = 1
        ) -> Answer {
            var headers = headers
            let names = Set(headers.keys.map { $0.lowercased() })
            if ![204, 304].contains(status), names.isDisjoint(with: ["content-length", "transfer-encoding"]) {
                headers["Content-Length"] = "\(body.count)"
            }
            let size = max(1, (body.count + max(1, pieces) - 1) / max(1, pieces))
            var answer = Answer([.head(status, headers)])
            for start in stride(from: 0, to: body.count, by: size) {
                let end = min(start + size, body.count)
                answer.steps.append(.bytes(body[body.startIndex + start..<body.startIndex + end]))
            }
            answer.steps.append(.end)
            answer.isProper = true
            return answer
        }

        /// Answers with text.
        public static func answer(
            _ status: Int = 200, headers: [String: String] = [:], text: String
        ) -> Answer {
            answer(status, headers: headers, body: text.asUTF8)
        }

        /// Answers with a JSON document.
        public static func answer(_ status: Int = 200, json: String) -> Answer {
            answer(status, headers: ["Content-Type": "application/json"], text: json)
        }

        /// Answers with a redirect.
        public static func redirect(to location: String, status: Int = 302) -> Answer {
            answer(status, headers: ["Location": location])
        }

        /// Ends the exchange with an error, such as a `URLError`.
        public static func failure(_ error: any Error) -> Answer { Answer([.fail(error)]) }

        /// Never answers.
        public static var silent: Answer { Answer([]) }

        /// Answers so after a gate has been opened.
        public func after(_ gate: Deferred<Void>) -> Answer { preceded(by: .wait(gate)) }

        /// Answers so after some time, by the timer of the transport.
        public func after(_ delay: Duration) -> Answer { preceded(by: .delay(delay)) }

        /// Continues with other steps in place of the end.
        public func then(_ steps: Step...) -> Answer {
            var answer = self
            if case .end? = answer.steps.last { answer.steps.removeLast() }
            answer.steps += steps
            return answer
        }

        private func preceded(by step: Step) -> Answer {
            var answer = self
            answer.steps.insert(step, at: 0)
            return answer
        }

        func steps(for request: URLRequest) -> [Step] {
            guard isProper, request.httpMethod == "HEAD" else { return steps }
            return steps.filter { if case .bytes = $0 { false } else { true } }
        }
    }
}
