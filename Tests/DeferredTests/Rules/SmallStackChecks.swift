import TestSupport
import Testing

extension Rules {
    /// A thread with a stack of 512 KiB.
    enum SmallStack {
        /// The length of chains and the depth of nesting; `DEFERRED_DEPTH` sets another. A recursion of a hundred
        /// bytes a link overflows the stack at 6,000, and a sanitizer makes each link ten times as expensive.
        static let depth = Int(environment: "DEFERRED_DEPTH") ?? (Sanitizer.isOn ? 20_000 : 100_000)

        /// Runs `body` on such a thread; it reports failures through `check`, since an `#expect` there would
        /// belong to no test.
        static func run(_ body: @escaping @Sendable (_ check: Checks) -> Void) {
            let checks = Checks()
            onThread(stackSize: 512 * 1024) { body(checks) }
            #expect(checks.failed.all == [])
        }

        struct Checks: Sendable {
            fileprivate let failed = Log()

            func callAsFunction<Value: Equatable>(_ value: Value, is expected: Value, line: Int = #line) {
                if value != expected { failed("line \(line): \(value) instead of \(expected)") }
            }

            func callAsFunction(_ condition: Bool, line: Int = #line) {
                callAsFunction(condition, is: true, line: line)
            }
        }
    }
}
