/// How cost grows with size: nanoseconds per item, from 10 items to 1,000,000.
enum Curves {
    struct Point {
        let size: Int
        let nanoseconds: Double
    }

    struct Line {
        let library: Library
        let points: [Point]
    }

    struct Panel {
        let title: String
        let unit: String
        let lines: [Line]
    }

    private typealias Body = (_ size: Int, _ iterations: Int, _ stopwatch: Stopwatch) throws -> Void

    static func measure() throws -> [Panel] {
        #if Peers
        let loop = EventLoops.embedded
        return [
            try panel(
                "A chain, built and settled", "link",
                (.deferred, Chain<Int>.deferred), (.embedded, { try Chain<Int>.nio(loop, $0, $1, $2) })),
            try panel(
                "Callbacks on one result", "callback",
                (.deferred, FanOut<Int>.deferred), (.embedded, { try FanOut<Int>.nio(loop, $0, $1, $2) })),
            try panel(
                "A list, gathered and settled", "input",
                (.deferred, Gather<Int>.deferred), (.embedded, { try Gather<Int>.nio(loop, $0, $1, $2) })),
            try panel(
                "Nested, so deep, and settled", "level",
                (.deferred, Nesting<Int>.deferred), (.embedded, { try Nesting<Int>.nio(loop, $0, $1, $2) })),
            try panel(
                "Asynchronous recursion", "step",
                (.deferred, { try Recursion<Int>.deferred($0, $1, $2) }),
                (.embedded, { try Recursion<Int>.nio(loop, $0, $1, $2) })),
            try panel("A chain, cancelled at its end", "link", (.deferred, CancelledChain<Int>.deferred)),
            try panel("A list, cancelled", "input", (.deferred, CancelledList<Int>.deferred)),
            try panel("A pending chain, released", "link", (.deferred, Dropping<Int>.deferred)),
        ]
        #else
        throw WrongResult(description: "the curves have peers: build with --traits Peers")
        #endif
    }

    private static let sizes = [
        10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000,
    ]

    private static func panel(_ title: String, _ unit: String, _ bodies: (Library, Body)...) throws -> Panel {
        note(title)
        var times = bodies.map { _ in [Point]() }
        for size in sizes {
            let iterations = max(1, 20_000 / size)
            var least = bodies.map { _ in Double.infinity }
            for _ in 0..<(size < 300_000 ? 15 : 5) {
                for (index, (_, body)) in bodies.enumerated() {
                    let stopwatch = Stopwatch(.thread)
                    try body(size, iterations, stopwatch)
                    least[index] = min(
                        least[index], Double(stopwatch.nanoseconds) / Double(size * iterations))
                }
            }
            for index in bodies.indices { times[index].append(Point(size: size, nanoseconds: least[index])) }
        }
        return Panel(
            title: title, unit: unit,
            lines: zip(bodies, times).map { Line(library: $0.0, points: $1) })
    }
}
