import Foundation
import PackagePlugin

/// Has `instrument` copy the sources of a module of the library into the build folder, to be compiled there.
@main
struct InstrumentSources: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
        let package = context.package.directoryURL
        let library = package.appending(path: "../../Sources/\(target.name)").standardizedFileURL
        let inputs = swiftFiles(in: library) + swiftFiles(in: package.appending(path: "Shadows"))
        let folder = context.pluginWorkDirectoryURL.appending(path: target.name)
        return [
            .buildCommand(
                displayName: "Instrumenting \(target.name)",
                executable: try context.tool(named: "instrument").url,
                arguments: [target.name, folder.path()] + inputs.map { $0.path() },
                inputFiles: inputs,
                outputFiles: inputs.map { folder.appending(path: "Instrumented-" + $0.lastPathComponent) })
        ]
    }

    private func swiftFiles(in folder: URL) -> [URL] {
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var files: [URL] = []
        while let file = all?.nextObject() as? URL {
            if file.pathExtension == "docc" { all?.skipDescendants() }
            if file.pathExtension == "swift" { files.append(file) }
        }
        return files.sorted { $0.path() < $1.path() }
    }
}
