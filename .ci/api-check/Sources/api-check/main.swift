import Foundation

// api-check ROOT SYMBOL-GRAPHS BASELINES check|update MODULE...
//
// Fails, with a line for each fault, if a public declaration has no doc comment, if the page of a function does not
// describe its parameter on:, or (check) if the public interface of a module differs from BASELINES/MODULE.txt;
// `update` writes these files.
//
// api-check topics ARCHIVES
//
// Fails if a page of the documentation has topics and none of them lists a symbol.

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.count == 2, arguments[0] == "topics" {
    let left = try symbolsWithoutTopic(in: URL(filePath: arguments[1], directoryHint: .isDirectory))
    left.forEach { print("without a topic: \($0)") }
    exit(left.isEmpty ? 0 : 1)
}
guard arguments.count >= 5, ["check", "update"].contains(arguments[3]) else {
    FileHandle.standardError.write(
        Data("usage: api-check ROOT SYMBOL-GRAPHS BASELINES check|update MODULE...\n".utf8))
    exit(2)
}
let (root, updates) = (arguments[0], arguments[3] == "update")
let graphs = URL(filePath: arguments[1], directoryHint: .isDirectory)
let baselines = URL(filePath: arguments[2], directoryHint: .isDirectory)
var faults = 0

do {
    for module in arguments[4...] {
        let interface = Interface(try SymbolGraph(of: module, in: graphs))
        let undocumented = interface.undocumented(relativeTo: root)
        let withoutDispatcher = interface.withoutDispatcher(relativeTo: root)
        (undocumented + withoutDispatcher).forEach { print($0) }

        let found = interface.declarations
        let file = baselines.appending(path: "\(module).txt")
        if updates {
            try FileManager.default.createDirectory(at: baselines, withIntermediateDirectories: true)
            try (found.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
        }
        let expected = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
        let (gone, new) = (Set(expected).subtracting(found), Set(found).subtracting(expected))
        if !gone.isEmpty || !new.isEmpty {
            print("The public interface of \(module) differs from \(file.lastPathComponent):")
            gone.sorted().forEach { print("- \($0)") }
            new.sorted().forEach { print("+ \($0)") }
            print("If that is intended, run `.ci/api --update` and describe the change in CHANGELOG.md.")
        }
        print("\(module): \(found.count) declarations, \(undocumented.count) without a doc comment")
        faults += undocumented.count + withoutDispatcher.count + gone.count + new.count
    }
} catch {
    FileHandle.standardError.write(Data("api-check: \(error)\n".utf8))
    exit(1)
}
exit(faults == 0 ? 0 : 1)
