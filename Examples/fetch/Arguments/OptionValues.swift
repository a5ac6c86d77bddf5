/// The values of options, and what is said about bad ones.
extension Option {
    static func wholeNumber(
        _ text: String, _ option: String, in range: ClosedRange<Int>
    ) throws(UsageError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                problem: "'\(text)' is no value for \(option)",
                hint: "it takes a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    static func seconds(_ text: String, _ option: String) throws(UsageError) -> Duration {
        // A day more than ten years: any longer is a slip of the pen, and `Duration` has an end too.
        guard let number = Double(text), number > 0, number <= 315_532_800 else {
            throw UsageError(
                problem: "'\(text)' is no value for \(option)",
                hint: "it takes seconds above 0, such as 10 or 0.5")
        }
        return .seconds(number)
    }

    static func fileName(_ text: String, _ option: String) throws(UsageError) -> String {
        guard text != "-" else {
            throw UsageError(
                problem: "'-' is no value for \(option)",
                hint: "it takes a file, as standard output is for what is fetched")
        }
        return text
    }
}

extension Options.Header {
    /// `Name: value`.
    static func parsed(_ text: String) throws(UsageError) -> Self {
        let hint = "a header is written as 'Name: value'"
        guard let colon = text.firstIndex(of: ":") else {
            throw UsageError(problem: "the header '\(text)' has no colon", hint: hint)
        }
        let name = String(text[..<colon])
        guard !name.isEmpty, name.unicodeScalars.allSatisfy(isTokenCharacter) else {
            throw UsageError(problem: "'\(name)' in '\(text)' is no name for a header", hint: hint)
        }
        let value = text[text.index(after: colon)...]
        // A line break would let a value end the header and begin another.
        guard value.unicodeScalars.allSatisfy({ $0 == "\t" || ($0.value >= 0x20 && $0.value != 0x7F) }) else {
            throw UsageError(
                problem: "the value of the header '\(name)' has a control character in it", hint: hint)
        }
        return Self(name: name, value: String(value.trimmingPrefix { $0 == " " || $0 == "\t" }))
    }

    /// What RFC 9110 allows in the name of a header.
    private static func isTokenCharacter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
        }
    }
}
