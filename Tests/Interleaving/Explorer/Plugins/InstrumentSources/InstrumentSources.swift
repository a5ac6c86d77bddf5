import Foundation
import PackagePlugin

/// Has `instrument` copy what a target's folder `Original` has into the build folder, to be compiled there: with the types of
/// `Shadows`, and with the faults of the package's folder `Faults`.
@main
struct InstrumentSources: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
        guard let target = target as? SourceModuleTarget else { return [] }
        let original = target.directoryURL.appending(path: "Original").resolvingSymlinksInPath()
        let shadows = URL(filePath: #filePath).appending(path: "../../../Shadows").standardizedFileURL
        let faults = context.package.directoryURL.appending(path: "Faults")
        let sources = files(in: original, "swift") + files(in: shadows, "swift")
        let folder = context.pluginWorkDirectoryURL.appending(path: target.name)
        let names = sources.map(\.lastPathComponent) + ["PlantedSwitch.swift"]
        return [
            .buildCommand(
                displayName: "Instrumenting \(target.name)",
                executable: try context.tool(named: "instrument").url,
                arguments: [target.name, faults.path(), folder.path()] + sources.map { $0.path() },
                inputFiles: sources + files(in: faults.appending(path: target.name), "faults"),
                outputFiles: names.map { folder.appending(path: "Instrumented-" + $0) })
        ]
    }

    private func files(in folder: URL, _ kind: String) -> [URL] {
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var files: [URL] = []
        while let file = all?.nextObject() as? URL {
            if file.pathExtension == "docc" { all?.skipDescendants() }
            if file.pathExtension == kind { files.append(file) }
        }
        return files.sorted { $0.path() < $1.path() }
    }
}
