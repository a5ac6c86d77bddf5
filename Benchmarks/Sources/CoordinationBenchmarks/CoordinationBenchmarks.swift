/// `swift run -c release CoordinationBenchmarks [--quick]`: compares locks, semaphores and queues with actors
/// that do the same, and measures the memory of 100,000 pending timers.
@main
struct CoordinationBenchmarks {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        if let unknown = arguments.first(where: { $0 != "--quick" }) {
            print("unknown option \(unknown); usage: CoordinationBenchmarks [--quick]")
            return
        }
        let rounds = arguments.isEmpty ? 31 : 7
        print("# Coordination, medians of \(rounds) interleaved rounds")
        await MutualExclusion(rounds: rounds).run()
        await PendingTimers(count: 100_000).run()
    }
}
