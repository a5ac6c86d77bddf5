import Foundation

/// All contenders at all jobs, in turn, and a table of what it came to.
struct Comparison {
    private let options: Options
    private let folder: URL

    init(_ options: Options) {
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
        print("# Transfers, medians of \(options.rounds) rounds taken in turn")
        print("From \(server.name) on this machine, \(options.atOnce) at once.")
        for job in options.jobs { try compare(job, server) }
    }

    private func compare(_ job: Job, _ server: FileServer) throws {
        let target = folder.appendingPathComponent("fetched")
        let urls = job.paths.map { server.urlBase + $0 }
        let list = folder.appendingPathComponent("list")
        try urls.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        let curlList = folder.appendingPathComponent("curl-list")
        try urls.map { "url = \"\($0)\"\nremote-name" }.joined(separator: "\n")
            .write(to: curlList, atomically: true, encoding: .utf8)
        let contenders = Contender.all(
            options, list: list.path, curlList: curlList.path, into: target.path)

        var costs: [[Program.Cost]] = contenders.map { _ in [] }
        // The first round is for caches to fill.
        for round in 0...options.rounds {
            for offset in contenders.indices {
                let index = (round + offset) % contenders.count
                let cost = try run(contenders[index], job, into: target)
                if round > 0 { costs[index].append(cost) }
            }
        }
        report(job, contenders, costs)
    }

    private func run(_ contender: Contender, _ job: Job, into target: URL) throws -> Program.Cost {
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: target) }
        let cost = try Program(
            contender.program, contender.arguments, isMuted: contender.isTalkative
        ).cost()
        let names = try FileManager.default.contentsOfDirectory(atPath: target.path)
        let isWhole = names.allSatisfy { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: target.path + "/" + name)
            return (attributes?[.size] as? NSNumber)?.intValue == job.byteCount
        }
        guard names.count == job.fileCount, isWhole else {
            throw Program.Failure(description: "\(contender.name) did not fetch everything")
        }
        return cost
    }

    private func report(_ job: Job, _ contenders: [Contender], _ costs: [[Program.Cost]]) {
        func median(_ index: Int, _ figure: (Program.Cost) -> Double) -> Double {
            let sorted = costs[index].map(figure).sorted()
            return sorted[sorted.count / 2]
        }
        let references = contenders.indices.filter { contenders[$0].isReference }
        print("\n## \(job.title)\n")
        let ratios = references.flatMap {
            ["time / \(contenders[$0].name)", "memory / \(contenders[$0].name)"]
        }
        row(["", "time, ms", "processor, ms", "peak memory, MB"] + ratios)
        row(["---"] + (0..<3 + ratios.count).map { _ in "---:" })
        for index in contenders.indices {
            let (time, memory) = (median(index, \.elapsed), median(index) { Double($0.memory) })
            let cells = [time * 1000, median(index, \.processor) * 1000, memory / 1e6].map { rounded($0, 10) }
            row(
                [contenders[index].name] + cells
                    + references.flatMap { reference in
                        [
                            rounded(time / median(reference, \.elapsed), 100),
                            rounded(memory / median(reference) { Double($0.memory) }, 100),
                        ]
                    })
        }
    }

    private func row(_ cells: [String]) { print("| " + cells.joined(separator: " | ") + " |") }

    private func rounded(_ figure: Double, _ parts: Double) -> String {
        "\((figure * parts).rounded() / parts)"
    }

    /// A server that has just been started may not be listening yet.
    private func waitUntilReady(_ server: FileServer) async throws {
        guard let url = URL(string: server.urlBase + Job.small.paths[0]) else {
            throw BadUsage(description: "\(server.urlBase) is not a URL")
        }
        let probe = folder.appendingPathComponent("probe")
        for attempt in 0... {
            do {
                return try await Way.operations.run(Work(urls: [url], into: probe.path, atOnce: 1))
            } catch {
                guard attempt < 100 else { throw error }
                try FileManager.default.createDirectory(at: probe, withIntermediateDirectories: true)
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}
