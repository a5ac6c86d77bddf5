import Foundation

/// Reading the command line, in the style people know: `-j 8`, `-j8`, `--jobs 8`, `--jobs=8`, options among
/// the URLs, `--` before what looks like an option and is none.
extension Options {
    /// What `arguments` (without the program's name) ask for.
    init(parsing arguments: some Sequence<String>) throws(UsageError) {
        self.init()
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                urls += rest.map(Self.trimmed)
                break
            }
            guard argument.hasPrefix("-") else {
                urls.append(Self.trimmed(argument))
                continue
            }
            guard argument != "-" else {
                throw UsageError(
                    problem: "'-' is no URL", hint: "URLs come from standard input with '--input -'")
            }
            let (name, attached) = Self.split(argument)
            guard let option = Option.named(name) else { throw .unknown(name) }
            try option.apply(try option.value(name, attached, from: &rest), &self)
        }
        try checkForContradictions()
    }

    /// What is copied from elsewhere often has spaces around it.
    private static func trimmed(_ url: String) -> String {
        url.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// `--name=value` and `-nvalue` in two, if there are two.
    private static func split(_ argument: String) -> (name: String, value: String?) {
        if argument.hasPrefix("--") {
            guard let equals = argument.firstIndex(of: "=") else { return (argument, nil) }
            return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
        }
        // "-output" is more likely a long name short of a dash than "-o" with the value "utput".
        guard argument.count > 2, Option.named("-" + argument) == nil else { return (argument, nil) }
        return (String(argument.prefix(2)), String(argument.dropFirst(2)))
    }
}

extension Option {
    static func named(_ name: String) -> Option? {
        groups.lazy.flatMap(\.options).first { $0.names.contains(name) }
    }

    /// The value that was attached to it, or else the argument after it.
    fileprivate func value(
        _ name: String, _ attached: String?, from rest: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        guard let placeholder else {
            if let attached {
                throw UsageError(problem: "\(name) takes no value, and was given '\(attached)'")
            }
            return ""
        }
        let value = attached ?? rest.popFirst()
        // `-d --json` lacks a folder; whoever has one of that name writes `-d ./--json`.
        guard let value, !value.isEmpty, attached != nil || Option.named(value) == nil else {
            throw UsageError(problem: "\(name) needs a value", hint: "write it as \(name) \(placeholder)")
        }
        return value
    }
}

extension UsageError {
    /// An option that there is not, with the one that was likely meant.
    fileprivate static func unknown(_ name: String) -> UsageError {
        let problem = "unknown option '\(name)'"
        let known = Option.groups.flatMap(\.options).flatMap(\.names)
        let closest = known.map { (name: $0, distance: editDistance($0, name)) }.min {
            $0.distance < $1.distance
        }
        guard let closest, closest.distance <= max(1, name.count / 3) else {
            return UsageError(problem: problem)
        }
        return UsageError(problem: problem, hint: "did you mean '\(closest.name)'?")
    }

    /// How many letters must be put in, left out or changed to make one word of the other.
    private static func editDistance(_ a: String, _ b: String) -> Int {
        let b = Array(b)
        var row = Array(0...b.count)
        for (i, letter) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in b.enumerated() {
                let change = diagonal + (letter == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(change, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[b.count]
    }
}
