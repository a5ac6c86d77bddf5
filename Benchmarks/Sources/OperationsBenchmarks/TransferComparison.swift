import Comparing
import Foundation

/// Runs all commands on all jobs, alternating between them, and prints a table of the results.
struct TransferComparison {
    private let options: TransferBenchmarkOptions
    private let folder: URL

    init(_ options: TransferBenchmarkOptions) {
        self.options = options
        let parent =
            options.folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        folder = parent.appendingPathComponent("OperationsBenchmarks-\(getpid())")
    }

    func run() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try FileServer(options, folder: folder.appendingPathComponent("served"))
        defer { server.end() }
        try await waitUntilReady(server)
        print("# Transfers, medians of \(options.rounds) interleaved rounds")
        print("From \(server.name) on this machine, \(options.atOnce) at once.")
        for job in options.jobs { try compare(job, server) }
    }

    private func compare(_ job: FileSet, _ server: FileServer) throws {
        let target = folder.appendingPathComponent("fetched")
        let urls = job.paths.map { server.urlBase + $0 }
        let list = folder.appendingPathComponent("list")
        try urls.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        let curlList = folder.appendingPathComponent("curl-list")
        try urls.map { "url = \"\($0)\"\nremote-name" }.joined(separator: "\n")
            .write(to: curlList, atomically: true, encoding: .utf8)
        let commands = TransferCommand.all(
            options, list: list.path, curlList: curlList.path, into: target.path)

        var costs: [[MeasuredProcess.Cost]] = commands.map { _ in [] }
        // The first round fills the caches.
        for round in 0...options.rounds {
            for offset in commands.indices {
                let index = (round + offset) % commands.count
                let cost = try run(commands[index], job, into: target)
                if round > 0 { costs[index].append(cost) }
            }
        }
        report(job, commands, costs)
    }

    private func run(_ command: TransferCommand, _ job: FileSet, into target: URL) throws
        -> MeasuredProcess.Cost
    {
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: target) }
        let cost = try MeasuredProcess(
            command.program, command.arguments, isMuted: command.isTalkative
        ).cost()
        guard command.savesFiles else { return cost }
        let names = try FileManager.default.contentsOfDirectory(atPath: target.path)
        let isWhole = names.allSatisfy { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: target.path + "/" + name)
            return (attributes?[.size] as? NSNumber)?.intValue == job.byteCount
        }
        guard names.count == job.fileCount, isWhole else {
            throw MeasuredProcess.Failure(description: "\(command.name) did not fetch everything")
        }
        return cost
    }

    private func report(_ job: FileSet, _ commands: [TransferCommand], _ costs: [[MeasuredProcess.Cost]]) {
        func median(_ index: Int, _ figure: (MeasuredProcess.Cost) -> Double) -> Double {
            Comparing.median(costs[index].map(figure)) ?? 0
        }
        let references = commands.indices.filter { commands[$0].isReference }
        print("\n## \(job.title)\n")
        let ratios = references.flatMap {
            ["time / \(commands[$0].name)", "memory / \(commands[$0].name)"]
        }
        row(["", "time, ms", "processor, ms", "peak memory, MB"] + ratios)
        row(["---"] + (0..<3 + ratios.count).map { _ in "---:" })
        for index in commands.indices {
            let (time, memory) = (median(index, \.elapsed), median(index) { Double($0.memory) })
            let cells = [time * 1000, median(index, \.processor) * 1000, memory / 1e6].map { rounded($0, 10) }
            row(
                [commands[index].name] + cells
                    + references.flatMap { reference in
                        [
                            rounded(time / median(reference, \.elapsed), 100),
                            rounded(memory / median(reference) { Double($0.memory) }, 100),
                        ]
                    })
        }
    }

    private func rounded(_ figure: Double, _ parts: Double) -> String {
        "\((figure * parts).rounded() / parts)"
    }

    /// A server that has just been started may not listen yet.
    private func waitUntilReady(_ server: FileServer) async throws {
        guard let url = URL(string: server.urlBase + FileSet.small.paths[0]) else {
            throw InvalidArguments(description: "\(server.urlBase) is not a URL")
        }
        let probe = folder.appendingPathComponent("probe")
        for attempt in 0... {
            do {
                return try await FetchMethod.operations.run(
                    FetchArguments(urls: [url], into: probe.path, atOnce: 1))
            } catch {
                guard attempt < 100 else { throw error }
                try FileManager.default.createDirectory(at: probe, withIntermediateDirectories: true)
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}
