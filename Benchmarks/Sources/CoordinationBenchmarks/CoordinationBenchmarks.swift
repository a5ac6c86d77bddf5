/// `swift run -c release CoordinationBenchmarks [--quick] [--one-thread [NAME]]`: compares locks, semaphores and queues with
/// actors that do the same, and measures the memory of 100,000 pending timers. With `--one-thread`, only what one thread
/// takes, of the calls whose names contain `NAME`.
@main
struct CoordinationBenchmarks {
    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let isQuick = arguments.contains("--quick")
        arguments.removeAll { $0 == "--quick" }
        let onlyOneThread = arguments.first == "--one-thread"
        if onlyOneThread { arguments.removeFirst() }
        guard arguments.count <= (onlyOneThread ? 1 : 0) else {
            print("usage: CoordinationBenchmarks [--quick] [--one-thread [NAME]]")
            return
        }
        let rounds = isQuick ? 7 : 31
        print("# Coordination, medians of \(rounds) interleaved rounds")
        await OneThread(rounds: rounds).run(only: arguments.first)
        if onlyOneThread { return }
        await Passing(rounds: rounds).run()
        await MutualExclusion(rounds: rounds).run()
        await PendingTimers(count: 100_000).run()
    }
}
