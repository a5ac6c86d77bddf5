/// Every attempt of a ``Deferred/retry(attempts:delay:on:when:_:fileID:line:)`` failed, or one did in a way
/// that was not to be tried again.
public struct RetryError: Error {
    /// Each attempt's error, the first attempt's first. Never empty.
    public let errors: [any Error]

    /// The last attempt's error.
    public var last: any Error { errors[errors.count - 1] }

    init(_ errors: [any Error]) { self.errors = errors }
}

extension RetryError: CustomStringConvertible {
    /// `failed 3 times: <error> (twice), <error>`, with runs of errors that read alike put together.
    public var description: String {
        if errors.count == 1 { return "failed once: \(last)" }
        var runs: [(text: String, count: Int)] = []
        for error in errors {
            let text = "\(error)"
            if let previous = runs.last, previous.text == text {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((text, 1))
            }
        }
        let listed = runs.map { $0.count == 1 ? $0.text : "\($0.text) (\($0.count) times)" }
        return "failed \(errors.count) times: \(listed.joined(separator: ", then "))"
    }
}
