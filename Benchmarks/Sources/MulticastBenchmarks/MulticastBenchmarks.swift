/// `swift run -c release MulticastBenchmarks [--quick]`: compares Multicast's types with the usual
/// alternatives.
@main
struct MulticastBenchmarks {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        if let unknown = arguments.first(where: { $0 != "--quick" }) {
            print("unknown option \(unknown); usage: MulticastBenchmarks [--quick]")
            return
        }
        let rounds = arguments.isEmpty ? 31 : 7
        print("# Multicast, medians of \(rounds) interleaved rounds")
        await ReadingAndWriting(rounds: rounds).run()
        await Notifying(rounds: rounds).run()
        await AddingAndRemoving(rounds: rounds).run()
    }
}
