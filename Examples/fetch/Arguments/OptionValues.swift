/// The values of options, and the errors for invalid ones.
extension Option {
    static func wholeNumber(
        _ text: String, _ option: String, in range: ClosedRange<Int>
    ) throws(UsageError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw .invalid(
                text, option, "it takes a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    static func seconds(_ text: String, _ option: String) throws(UsageError) -> Duration {
        // Ten years and a day: anything longer is a mistake, and `Duration` has a limit too.
        guard let number = decimal(text), number > 0, number <= 315_532_800 else {
            throw .invalid(text, option, "it takes seconds above 0, such as 10 or 0.5")
        }
        return .seconds(number)
    }

    /// Bytes, or bytes per second: `800`, `500k`, `1.5M`, `1G`.
    static func byteCount(_ text: String, _ option: String, _ unit: String) throws(UsageError) -> Int64 {
        let factors: [Character: Double] = ["k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "G": 1e9, "g": 1e9]
        let factor = text.last.flatMap { factors[$0] }
        let digits = factor == nil ? text[...] : text.dropLast()
        guard let number = decimal(digits), number * (factor ?? 1) >= 1, number * (factor ?? 1) <= 1e15
        else { throw .invalid(text, option, "it takes \(unit), such as 500k or 1.5M") }
        return Int64(number * (factor ?? 1))
    }

    /// Returns the number that decimal digits are, with or without a point. (`Double` would also take an exponent, a
    /// sign, hexadecimal digits and "inf".)
    private static func decimal(_ digits: some StringProtocol) -> Double? {
        digits.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: ".") }
            ? Double(digits) : nil
    }

    static func fileName(_ text: String, _ option: String) throws(UsageError) -> String {
        guard text != "-" else {
            throw .invalid(text, option, "it takes a file, as standard output is for the fetched data")
        }
        return text
    }
}

extension UsageError {
    fileprivate static func invalid(_ text: String, _ option: String, _ hint: String) -> UsageError {
        UsageError(problem: "'\(text)' is not valid for \(option)", hint: hint)
    }
}

extension Options.Header {
    /// `Name: value`; `Name:` for a header that is not sent, `Name;` for an empty one, as for curl. Errors do not
    /// show the text, whose value may be a password.
    ///
    /// - Parameter number: That of the header on the command line, from 1 on.
    static func parsed(_ text: String, number: Int) throws(UsageError) -> Self {
        let hint = "a header is written as 'Name: value'"
        let isEmpty = text.hasSuffix(";") && !text.contains(":")
        guard let colon = isEmpty ? text.lastIndex(of: ";") : text.firstIndex(of: ":") else {
            throw UsageError(problem: "header \(number) has no colon", hint: hint)
        }
        let name = String(text[..<colon])
        guard !name.isEmpty, name.unicodeScalars.allSatisfy(isTokenCharacter) else {
            throw UsageError(problem: "header \(number) has no valid name before its colon", hint: hint)
        }
        let value = text[text.index(after: colon)...]
        // After a line break, a value could go on with another header.
        guard value.unicodeScalars.allSatisfy({ $0 == "\t" || ($0.value >= 0x20 && $0.value != 0x7F) }) else {
            throw UsageError(
                problem: "the value of the header '\(name)' contains a control character", hint: hint)
        }
        let trimmed = String(value.trimmingPrefix { $0 == " " || $0 == "\t" })
        return Self(name: name, value: trimmed.isEmpty && !isEmpty ? nil : trimmed)
    }

    /// The characters that RFC 9110 allows in the name of a header.
    private static func isTokenCharacter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
        }
    }
}
