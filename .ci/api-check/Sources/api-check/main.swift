import Foundation

// api-check ROOT SYMBOL-GRAPHS MODULE...
//
// Fails, with a line for each fault, if a public declaration has no doc comment, or if the page of a function does not
// describe its parameter on:.
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
guard arguments.count >= 3 else {
    FileHandle.standardError.write(Data("usage: api-check ROOT SYMBOL-GRAPHS MODULE...\n".utf8))
    exit(2)
}
let graphs = URL(filePath: arguments[1], directoryHint: .isDirectory)
var faults: [String] = []

do {
    for module in arguments[2...] {
        let interface = Interface(try SymbolGraph(of: module, in: graphs))
        faults += interface.undocumented(relativeTo: arguments[0])
        faults += interface.withoutDispatcher(relativeTo: arguments[0])
    }
} catch {
    FileHandle.standardError.write(Data("api-check: \(error)\n".utf8))
    exit(1)
}
faults.forEach { print($0) }
exit(faults.isEmpty ? 0 : 1)
