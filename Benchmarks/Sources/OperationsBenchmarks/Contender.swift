import Foundation

/// A program with its arguments, for some job.
struct Contender {
    let name: String
    let program: String
    let arguments: [String]
    /// What the others of its kind are compared with.
    var isReference = false
    /// It talks even when asked not to.
    var isTalkative = false

    /// All that there are on this machine; `list` and `curlList` name what to fetch.
    static func all(_ options: Options, list: String, curlList: String, into folder: String) -> [Contender] {
        let own = CommandLine.arguments[0]
        let atOnce = "\(options.atOnce)"
        var contenders = [
            Contender(
                name: "DeferredOperations", program: own,
                arguments: ["fetch", Way.operations.rawValue, list, folder, atOnce]),
            Contender(
                name: "URLSession", program: own,
                arguments: ["fetch", Way.session.rawValue, list, folder, atOnce], isReference: true),
        ]
        if let fetcher = options.fetcher {
            contenders.append(
                Contender(
                    name: "fetch", program: fetcher,
                    arguments: ["--quiet", "-j", atOnce, "-d", folder, "--input", list]))
        }
        if let curl = Self.installed("curl") {
            contenders.append(
                Contender(
                    name: "curl --parallel", program: curl,
                    arguments: [
                        "--silent", "--fail", "--parallel", "--parallel-max", atOnce, "--output-dir", folder,
                        "--config", curlList,
                    ], isReference: true, isTalkative: true))
        }
        if let wget = Self.installed("wget") {
            contenders.append(
                Contender(
                    name: "wget (one at once)", program: wget, arguments: ["-q", "-i", list, "-P", folder]))
        }
        if let aria = Self.installed("aria2c") {
            contenders.append(
                Contender(
                    name: "aria2c", program: aria,
                    arguments: [
                        "-q", "-i", list, "-d", folder, "-j", atOnce, "-x", "1", "--file-allocation=none",
                    ]))
        }
        return contenders
    }

    /// The program of that name on the path, if there is one.
    static func installed(_ name: String) -> String? {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
        return path.components(separatedBy: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
