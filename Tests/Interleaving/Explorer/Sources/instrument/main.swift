import Foundation
import Instrumenting

/// `instrument MODULE FAULTS FOLDER FILE...` writes copies into a folder; with `--in-place` for the folder, it changes the files.
let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count > 3 else {
    print("usage: instrument MODULE FAULTS FOLDER|--in-place FILE...")
    exit(2)
}
do {
    var instrument = try Instrument(
        module: arguments[0], faults: URL(filePath: arguments[1], directoryHint: .isDirectory),
        files: arguments.dropFirst(3).map { URL(filePath: $0) })
    if arguments[2] == "--in-place" {
        try instrument.writeInPlace()
    } else {
        try instrument.write(to: URL(filePath: arguments[2], directoryHint: .isDirectory))
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
