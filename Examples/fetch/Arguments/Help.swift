/// The text of `--help`, generated from the options.
enum Help {
    static var text: String {
        var lines = [
            "usage: fetch [options] URL...",
            "",
            "Downloads each URL to a file in the current folder, named by the last part of",
            "the URL's path.",
        ]
        for group in Option.groups {
            lines += ["", group.title + ":"]
            for option in group.options { lines += self.lines(for: option) }
        }
        lines += [
            "",
            "A file that exists is an error, unless one of --overwrite, --skip-existing,",
            "--continue or --newer says what to do with it. Redirects are followed. An answer",
            "that is compressed, although that was not asked for, is an error: --raw stores",
            "it as it is. The user and the password of a URL are sent, and never shown.",
            "",
            "Certificates are those of the system: Foundation has no --cacert, no --insecure.",
            "http_proxy, https_proxy, all_proxy and no_proxy name proxies, as for curl. On a",
            "terminal, progress is shown as bars, in colour unless NO_COLOR is set.",
            "",
            "Exit status: 0 if all URLs were fetched, or their files were there already; 1 if",
            "some failed, each with its reason on standard error; 2 for an invalid command",
            "line, before anything is fetched; 130 after Ctrl-C, 128 and its number after",
            "another signal. With --first or --mirrors, one URL that works is enough for 0.",
            "",
            "  fetch https://example.org/a.zip https://example.org/b.zip",
            "  fetch -j 8 -d pictures --retry 3 --continue --input list.txt",
            "  fetch --first https://one.example.org/a.iso https://two.example.org/a.iso",
            "  fetch -o - https://example.org/data.json | jq .",
            "  fetch --newer --netrc --input list.txt",
            "  fetch --continue -o disk.iso 'https://example.org/disk.iso?signature=NEW'",
            "",
        ]
        return lines.joined(separator: "\n")
    }

    private static let column = 24

    private static func lines(for option: Option) -> [String] {
        let hasShort = option.names[0].count == 2
        var usage = (hasShort ? "  " : "      ") + option.names.joined(separator: ", ")
        if let placeholder = option.placeholder {
            usage += option.isValueOptional ? " [\(placeholder)]" : " " + placeholder
        }
        var help = option.help.split(separator: "\n").map { String(repeating: " ", count: column) + $0 }
        guard usage.count + 2 <= column else { return [usage] + help }
        help[0] = usage + help[0].dropFirst(usage.count)
        return help
    }
}
