import Foundation

/// A fault that is compiled into instrumented sources, and switched on by its number.
///
/// A search, or the tests, have to find each of them; otherwise they could not be relied on to find others of that kind.
public struct PlantedFault: Sendable {
    /// A small change of one function, which is found by its name, whatever file it is in.
    public struct Change: Sendable {
        /// `Type.name`, or `Type.name(label:)`.
        public let symbol: String
        /// What is changed there.
        public let operation: Operation
    }

    /// A change of what a pattern names: tokens that are in the function once.
    public enum Operation: Sendable, Equatable {
        /// Leaves out the statement that mentions it.
        case skips(String)
        /// Takes the operand that mentions it as true, or as false. It is evaluated all the same.
        case holds(String)
        case fails(String)
        /// Returns at once; with a value, or without.
        case answers(String)
        /// Lets a `guard` pass.
        case drops(String)
        /// Where a `guard` that mentions it does not pass, returns something else.
        case guarding(String, answers: String)
        /// Does something else in place of a call: `%1` is its first argument, `%0` what it is called on, `%_` the call.
        case call(String, becomes: String)
        /// Puts another expression in place of exactly that one.
        case text(String, becomes: String)
        /// Does something else before, or after, the statement that mentions it.
        case before(String, does: String)
        case after(String, does: String)
        /// Exchanges two statements, one directly after the other.
        case swaps(String, String)
    }

    /// What finds it.
    public enum Finder: Sendable, Equatable {
        /// The class or the scenario of that name; with the size and the place of a program that shows it, and the most
        /// preemptions of its schedules, or `reduced`.
        case search(String, size: Int, place: Int, bound: String)
        /// The tests whose names match.
        case tests(String)
    }

    /// Its name on the command line. A change with number 0 is made for good.
    public let number: Int
    /// A description of the fault.
    public let title: String
    /// Returns what finds it; nil if nothing has to.
    public internal(set) var finder: Finder?
    /// Returns the changes that make it.
    public internal(set) var changes: [Change] = []
}

extension PlantedFault {
    /// Reads the faults of a module from the files `FOLDER/MODULE/*.faults`.
    public static func of(_ module: String, in folder: URL) throws -> [PlantedFault] {
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: module).path()))
            ?? []
        return try names.sorted().filter { $0.hasSuffix(".faults") }.flatMap { name in
            let file = folder.appending(path: module).appending(path: name)
            return try parse(String(contentsOf: file, encoding: .utf8), name: "\(module)/\(name)")
        }
    }

    /// Reads the faults of all modules, in the order of their numbers.
    public static func all(in folder: URL) throws -> [PlantedFault] {
        let modules = try FileManager.default.contentsOfDirectory(atPath: folder.path())
        let faults = try modules.sorted().flatMap { try of($0, in: folder) }.filter { $0.number > 0 }
        if let twice = Dictionary(grouping: faults, by: \.number).first(where: { $0.value.count > 1 }) {
            throw PlantingFailure("two planted faults have the number \(twice.key)")
        }
        return faults.sorted { $0.number < $1.number }
    }

    /// Reads faults. README.md has the format.
    static func parse(_ text: String, name: String) throws -> [PlantedFault] {
        var faults: [PlantedFault] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop { $0 == " " }
            if content.isEmpty || content.hasPrefix("#") { continue }
            func wrong(_ text: String) -> PlantingFailure { PlantingFailure("\(name):\(index + 1): \(text)") }
            if content.startIndex == line.startIndex {
                let parts = content.split(separator: " ", maxSplits: 1)
                guard parts.count == 2, let number = Int(parts[0]) else {
                    throw wrong("a fault begins with its number and a title")
                }
                faults.append(PlantedFault(number: number, title: String(parts[1])))
                continue
            }
            guard !faults.isEmpty else { throw wrong("no fault precedes this") }
            if let finder = try finder(content, wrong) {
                faults[faults.count - 1].finder = finder
            } else {
                faults[faults.count - 1].changes.append(try change(content, wrong))
            }
        }
        return faults
    }

    private static func finder(_ line: Substring, _ wrong: (String) -> PlantingFailure) throws -> Finder? {
        if line.hasPrefix("seen by ") { return .tests(String(line.dropFirst(8))) }
        guard line.hasPrefix("found by ") else { return nil }
        let words = line.dropFirst(9).split(separator: " ").map(String.init)
        var values: [String: String] = [:]
        for index in stride(from: 1, to: words.count - 1, by: 2) { values[words[index]] = words[index + 1] }
        guard let name = words.first, words.count % 2 == 1, let size = Int(values["size"] ?? "1"),
            let place = Int(values["place"] ?? "1")
        else { throw wrong("found by NAME [size N] [place N] [bound N|reduced]") }
        return .search(name, size: size, place: place, bound: values["bound"] ?? "1")
    }

    private static func change(_ line: Substring, _ wrong: (String) -> PlantingFailure) throws -> Change {
        let parts = line.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
        let words = parts.enumerated().filter { $0.offset % 2 == 0 }.flatMap {
            $0.element.split(separator: " ")
        }
        let codes = parts.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        let operation: Operation? =
            switch (words.dropFirst().joined(separator: " "), codes.count) {
            case ("skips", 1): .skips(codes[0])
            case ("holds", 1): .holds(codes[0])
            case ("fails", 1): .fails(codes[0])
            case ("answers", 1): .answers(codes[0])
            case ("returns", 0): .answers("")
            case ("drops guard", 1): .drops(codes[0])
            case ("guard answers", 2): .guarding(codes[0], answers: codes[1])
            case ("call becomes", 2): .call(codes[0], becomes: codes[1])
            case ("text becomes", 2): .text(codes[0], becomes: codes[1])
            case ("before does", 2): .before(codes[0], does: codes[1])
            case ("after does", 2): .after(codes[0], does: codes[1])
            case ("swaps and", 2): .swaps(codes[0], codes[1])
            default: nil
            }
        guard let operation, let symbol = words.first else {
            throw wrong("no operation is written like “\(line)”")
        }
        return Change(symbol: String(symbol), operation: operation)
    }
}

/// Reports a file of faults that is wrong, or a place that is missing.
public struct PlantingFailure: Error, CustomStringConvertible {
    /// Says what is wrong, and where.
    public let description: String

    init(_ description: String) { self.description = description }
}
