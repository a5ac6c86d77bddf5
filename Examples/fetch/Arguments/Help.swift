/// The text of `--help`, made from the options themselves.
enum Help {
    static var text: String {
        var lines = [
            "usage: fetch [options] URL...",
            "",
            "Fetches each URL into the current folder, into a file named by the last part of its path.",
        ]
        for group in Option.groups {
            lines += ["", group.title + ":"]
            for option in group.options { lines += self.lines(for: option) }
        }
        lines += [
            "",
            "A file that exists is never replaced unless you say so. The exit status is 0 if all were",
            "fetched, 1 if some failed (each with its reason on standard error), 2 if the command line",
            "can't be meant, 130 after Ctrl-C. Bars are shown on a terminal, in colour unless NO_COLOR is set.",
            "",
            "  fetch https://example.org/a.zip https://example.org/b.zip",
            "  fetch -j 8 -d pictures --retry 3 --continue --input list.txt",
            "  fetch --first -o image.iso https://mirror1.example.org/i.iso https://mirror2.example.org/i.iso",
            "  fetch -o - https://example.org/data.json | jq .",
            "",
        ]
        return lines.joined(separator: "\n")
    }

    private static let column = 26

    private static func lines(for option: Option) -> [String] {
        let hasShort = option.names[0].count == 2
        var usage = (hasShort ? "  " : "      ") + option.names.joined(separator: ", ")
        if let placeholder = option.placeholder { usage += " " + placeholder }
        var help = option.help.split(separator: "\n").map { String(repeating: " ", count: column) + $0 }
        guard usage.count + 2 <= column else { return [usage] + help }
        help[0] = usage + help[0].dropFirst(usage.count)
        return help
    }
}
