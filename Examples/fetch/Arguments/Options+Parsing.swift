import Foundation

/// Parsing the command line in the usual style: `-j 8`, `-j8`, `--jobs 8`, `--jobs=8`, options before,
/// between and after URLs, and `--` before URLs that begin with a dash.
extension Options {
    /// Parses `arguments`, which do not include the program's name.
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
                    problem: "'-' is not a URL", hint: "URLs come from standard input with '--input -'")
            }
            let (name, attached) = Self.split(argument)
            guard let option = Option.named(name) else { throw .unknown(name) }
            try option.apply(try option.value(name, attached, from: &rest), &self)
        }
        if case .file(let path) = output, path.hasSuffix("/") {
            output = .named
            directory = path.inFolder(directory)
        }
        // Many servers compare dates for equality, so that the file must have the server's.
        if existing == .newer { keepsServerTime = true }
        try checkForContradictions()
    }

    /// URLs that were copied from elsewhere often have spaces around them.
    private static func trimmed(_ url: String) -> String {
        url.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Splits `--name=value` and `-nvalue` into name and value.
    private static func split(_ argument: String) -> (name: String, value: String?) {
        if argument.hasPrefix("--") {
            guard let equals = argument.firstIndex(of: "=") else { return (argument, nil) }
            return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
        }
        // "-output" is more likely "--output" than "-o" with the value "utput".
        guard argument.count > 2, Option.named("-" + argument) == nil else { return (argument, nil) }
        return (String(argument.prefix(2)), String(argument.dropFirst(2)))
    }
}

extension Option {
    static func named(_ name: String) -> Option? {
        (groups.flatMap(\.options) + refused).first { $0.names.contains(name) }
    }

    /// Returns the value attached to the option, or else the next argument.
    fileprivate func value(
        _ name: String, _ attached: String?, from rest: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        if isValueOptional {
            guard let attached else {
                // What can be no URL, not even one that lacks its scheme and has a password, is the value.
                let isValue = rest.first.map { next in
                    !next.isEmpty && !next.hasPrefix("-") && !next.contains("://") && !next.contains("@")
                }
                return isValue == true ? rest.removeFirst() : ""
            }
            if attached.isEmpty {
                throw UsageError(
                    problem: "\(name)= has no value",
                    hint: "write it as \(name), or \(name) \(placeholder ?? "")")
            }
        }
        guard let placeholder else {
            if let attached {
                throw UsageError(
                    problem: "\(name) takes no value, but got '\(WebAddress.shown(attached))'")
            }
            return ""
        }
        let value = attached ?? rest.popFirst()
        // In `-d --json` the folder is missing. A folder of that name can be written as `-d ./--json`.
        guard let value, !value.isEmpty, attached != nil || Option.named(value) == nil else {
            throw UsageError(problem: "\(name) needs a value", hint: "write it as \(name) \(placeholder)")
        }
        // No error, line or name of a file shows its password.
        let scheme = value.firstRange(of: "://").map { value[..<$0.lowerBound].drop(while: \.isWhitespace) }
        if let scheme, scheme.allSatisfy(\.isLetter), value.contains("@") {
            throw UsageError(
                problem: "\(name) takes no URL, but got '\(WebAddress.shown(value))'",
                hint: "write it as \(name) \(placeholder)")
        }
        return value
    }
}

extension UsageError {
    /// The error for an unknown option, with the most similar one.
    fileprivate static func unknown(_ name: String) -> UsageError {
        // What was meant as a URL may have a password.
        let problem = "unknown option '\(WebAddress.shown(name))'"
        if let hint = FamiliarOptions.hint(name) { return UsageError(problem: problem, hint: hint) }
        let known = Option.groups.flatMap(\.options).flatMap(\.names)
        let closest = known.map { (name: $0, distance: editDistance($0, name)) }.min {
            $0.distance < $1.distance
        }
        // Any short option is one letter from any other.
        guard let closest, name.count > 2, closest.distance <= max(1, name.count / 3) else {
            return UsageError(problem: problem)
        }
        return UsageError(problem: problem, hint: "did you mean '\(closest.name)'?")
    }

    /// Returns how many letters have to be inserted, removed or replaced to make one word of the other.
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
