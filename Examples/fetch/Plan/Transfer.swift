import Foundation

/// One URL as it was given, and where what it names is to go.
struct Transfer: Sendable {
    enum Destination: Equatable, Sendable {
        /// A path, absolute or from the current folder.
        case file(String)
        case standardOutput
        /// The path of a pipe or a device, which is written to like standard output.
        case stream(String)
    }

    /// Its place in the order given, from 0.
    let index: Int
    let text: String
    let url: Result<URL, WebAddress.Invalid>
    /// What it is called on the screen.
    let name: String
    let destination: Destination
}

extension Transfer {
    init(index: Int, text: String, name: String, destination: Destination) {
        let url = Result { () throws(WebAddress.Invalid) in try WebAddress.parse(text) }
        self.init(index: index, text: text, url: url, name: name, destination: destination)
    }

    /// A transfer for each of `urls`; no two go to the same file, unless they are mirrors of one thing.
    static func plan(_ urls: [String], _ options: Options) throws(UsageError) -> [Transfer] {
        try options.checkCount(urls.count)
        // With --continue a part file has a name that can be found again, and must not be another URL's.
        var names = UniqueNames(besides: options.existing == .resume ? [".part", ".part.from"] : [])
        var shared: String?
        return urls.enumerated().map { index, text in
            let url = Result { () throws(WebAddress.Invalid) in try WebAddress.parse(text) }
            let destination: Destination
            switch options.output {
            case .standardOutput:
                destination = .standardOutput
            case .file(let path):
                let path = path.inFolder(options.directory)
                destination = FileKind(path).isStream ? .stream(path) : .file(path)
            case .named:
                // What is no URL takes no name away from those that are.
                let wanted = (try? url.get()).map { FileName.of($0) }
                let name = options.takesFirst ? shared ?? wanted : wanted.map { names.make($0) }
                shared = name
                destination = .file((name ?? "").inFolder(options.directory))
            }
            return Transfer(
                index: index, text: text, url: url, name: name(of: destination, text, options),
                destination: destination)
        }
    }

    /// Mirrors are told apart by where they are, others by where they go.
    private static func name(of destination: Destination, _ text: String, _ options: Options) -> String {
        guard !options.takesFirst, case .file(let path) = destination,
            let last = path.split(separator: "/").last
        else { return text }
        return String(last)
    }
}

extension String {
    /// This path, inside `folder` if there is one and the path does not begin at the root.
    fileprivate func inFolder(_ folder: String?) -> String {
        guard let folder, !hasPrefix("/") else { return self }
        return folder.hasSuffix("/") ? folder + self : folder + "/" + self
    }
}
