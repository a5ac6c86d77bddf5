import Testing

extension Rules {
    /// Counts what is alive, to see that all that a closure captured is freed.
    final class Lives: Sendable {
        private let count = Box(0)

        var alive: Int { count.value }

        func begin() -> Life { Life(count) }

        /// Something that closures capture.
        final class Life: Sendable {
            private let count: Box<Int>

            fileprivate init(_ count: Box<Int>) {
                self.count = count
                count.change { $0 += 1 }
            }

            deinit { count.change { $0 -= 1 } }

            func use() {}
        }
    }
}
