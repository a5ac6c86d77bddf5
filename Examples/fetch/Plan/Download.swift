import Foundation

/// One URL, as in the arguments, and its destination.
struct Download: Sendable {
    enum Destination: Equatable, Sendable {
        /// A path, absolute or relative to the current folder.
        case file(String)
        case standardOutput
        /// The path of a pipe or a device, which is written to like standard output.
        case stream(String)

        static func path(_ path: String) -> Destination {
            FileKind(path).isStream ? .stream(path) : .file(path)
        }
    }

    /// The position in the arguments, from 0.
    let index: Int
    /// The URL as it is shown: without user and password.
    let text: String
    let url: Result<URL, WebAddress.Invalid>
    /// Other addresses of the same file, which continue a transfer that breaks off.
    var mirrors: [URL] = []
    /// The checksum that the file must have.
    var checksum: Checksum?
    /// The name on the screen.
    let name: String
    let destination: Destination
}

extension Download {
    init(index: Int, text: String, name: String, destination: Destination) {
        let url = Result { () throws(WebAddress.Invalid) in try WebAddress.parse(text) }
        self.init(index: index, text: WebAddress.shown(text), url: url, name: name, destination: destination)
    }

    /// Returns a download for each of `urls`. No two have the same destination, except for mirrors.
    static func plan(_ lines: [InputList.Line], _ options: Options) throws(UsageError) -> [Download] {
        try options.checkCount(lines.count)
        let checksums = try lines.map { line throws(UsageError) -> Checksum? in
            if let own = line.checksum, let other = options.checksum, own != other {
                throw .contradiction("--checksum and the checksum in --input", "they are of the same file")
            }
            return line.checksum ?? options.checksum
        }
        if options.triesMirrors { return try planMirrors(lines.map(\.url), checksums, options) }
        // With --continue, a part file has a predictable name, which must not be another download's.
        var names = UniqueNames(besides: options.existing == .resume ? [".part", ".part.from"] : [])
        var shared: String?
        return zip(lines, checksums).enumerated().map { index, entry in
            let (text, checksum) = (entry.0.url, entry.1)
            let url = Result { () throws(WebAddress.Invalid) in try WebAddress.parse(text) }
            let destination: Destination
            switch options.output {
            case .standardOutput:
                destination = .standardOutput
            case .file(let path):
                destination = .path(path.inFolder(options.directory))
            case .named:
                // A malformed URL takes no name that another one could have.
                let wanted = (try? url.get()).map { FileName.of($0) }
                let name = options.takesFirst ? shared ?? wanted : wanted.map { names.make($0) }
                shared = name
                destination = .file((name ?? "").inFolder(options.directory))
            }
            let shown = WebAddress.shown(text)
            return Download(
                index: index, text: shown, url: url, checksum: checksum,
                name: name(of: destination, shown, options), destination: destination)
        }
    }

    /// Returns a download of the first URL, with the others as its mirrors, and one for each malformed URL,
    /// which fails.
    private static func planMirrors(
        _ urls: [String], _ checksums: [Checksum?], _ options: Options
    ) throws(UsageError) -> [Download] {
        let checksum = checksums.compactMap { $0 }.first
        if checksums.contains(where: { $0 != nil && $0 != checksum }) {
            throw .contradiction("two checksums in --input", "mirrors are of the same file")
        }
        let addresses = urls.map { text in
            (
                text: WebAddress.shown(text),
                url: Result { () throws(WebAddress.Invalid) in try WebAddress.parse(text) }
            )
        }
        let usable = addresses.compactMap { address in (try? address.url.get()).map { (address.text, $0) } }
        var downloads: [Download] = []
        if let (text, url) = usable.first {
            let destination: Destination =
                switch options.output {
                case .standardOutput: .standardOutput
                case .file(let path): .path(path.inFolder(options.directory))
                case .named: .file(FileName.of(url).inFolder(options.directory))
                }
            downloads.append(
                Download(
                    index: 0, text: text, url: .success(url), mirrors: usable.dropFirst().map(\.1),
                    checksum: checksum, name: name(of: destination, text, options), destination: destination))
        }
        for case (let text, .failure(let fault)) in addresses {
            downloads.append(
                Download(
                    index: downloads.count, text: text, url: .failure(fault), name: text,
                    destination: .standardOutput))
        }
        return downloads
    }

    /// Mirrors are named by their URLs, other downloads by their destinations.
    private static func name(of destination: Destination, _ text: String, _ options: Options) -> String {
        guard !options.takesFirst, case .file(let path) = destination,
            let last = path.split(separator: "/").last
        else { return text }
        return String(last)
    }
}

extension String {
    /// This path, inside `folder` if there is one and the path is not absolute.
    func inFolder(_ folder: String?) -> String {
        guard let folder, !hasPrefix("/") else { return self }
        return folder.hasSuffix("/") ? folder + self : folder + "/" + self
    }
}
