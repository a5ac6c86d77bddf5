import Foundation

/// A program with its arguments that does a transfer job.
struct TransferCommand {
    let name: String
    let program: String
    let arguments: [String]
    /// Whether the others of its kind are compared with this one.
    var isReference = false
    /// Whether it prints progress although it was asked not to.
    var isTalkative = false
    /// Whether it saves what it fetches.
    var savesFiles = true

    /// Returns the commands for all programs installed on this machine. `list` and `curlList` are files with
    /// the URLs to fetch.
    static func all(_ options: TransferBenchmarkOptions, list: String, curlList: String, into folder: String)
        -> [TransferCommand]
    {
        let own = CommandLine.arguments[0]
        let atOnce = "\(options.atOnce)"
        if options.streams {
            let ways: [(String, FetchMethod)] = [
                ("StreamDataSource, sequence", .sequence), ("StreamDataSource, calls", .calls),
                ("URLSession's delegate", .delegate),
            ]
            return ways.map { name, way in
                TransferCommand(
                    name: name, program: own, arguments: ["fetch", way.rawValue, list, folder, atOnce],
                    isReference: way == .delegate, savesFiles: false)
            }
        }
        var commands = [
            TransferCommand(
                name: "DeferredOperations", program: own,
                arguments: ["fetch", FetchMethod.operations.rawValue, list, folder, atOnce]),
            TransferCommand(
                name: "URLSession", program: own,
                arguments: ["fetch", FetchMethod.session.rawValue, list, folder, atOnce], isReference: true),
        ]
        if let fetcher = options.fetcher {
            commands.append(
                TransferCommand(
                    name: "fetch", program: fetcher,
                    arguments: ["--quiet", "-j", atOnce, "-d", folder, "--input", list]))
        }
        if let curl = Self.installed("curl") {
            commands.append(
                TransferCommand(
                    name: "curl --parallel", program: curl,
                    arguments: [
                        "--silent", "--fail", "--parallel", "--parallel-max", atOnce, "--output-dir", folder,
                        "--config", curlList,
                    ], isReference: true, isTalkative: true))
        }
        if let wget = Self.installed("wget") {
            commands.append(
                TransferCommand(
                    name: "wget (one at once)", program: wget, arguments: ["-q", "-i", list, "-P", folder]))
        }
        if let aria = Self.installed("aria2c") {
            commands.append(
                TransferCommand(
                    name: "aria2c", program: aria,
                    arguments: [
                        "-q", "-i", list, "-d", folder, "-j", atOnce, "-x", "1", "--file-allocation=none",
                    ]))
        }
        return commands
    }

    /// Returns the path of the program with that name, or nil if it is not installed.
    static func installed(_ name: String) -> String? {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
        return path.components(separatedBy: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
