/// `swift run -c release CoordinationBenchmarks [--quick]`: locks, semaphores and queues beside actors that
/// do the same, and what 100,000 pending timers take.
@main
struct CoordinationBenchmarks {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        if let unknown = arguments.first(where: { $0 != "--quick" }) {
            print("unknown option \(unknown); usage: CoordinationBenchmarks [--quick]")
            return
        }
        let rounds = arguments.isEmpty ? 31 : 7
        print("# Coordination, medians of \(rounds) rounds taken in turn")
        await TakingTurns(rounds: rounds).run()
        await PendingTimers(count: 100_000).run()
    }
}
