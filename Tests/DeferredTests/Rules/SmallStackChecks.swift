import TestSupport
import Testing

extension Rules {
    /// A thread with a stack of 512 KiB.
    enum SmallStack {
        /// A million; fewer under a sanitizer, which makes each ten times as expensive.
        static let million = Sanitizer.isOn ? 200_000 : 1_000_000

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
