// swift-tools-version: 6.2
import PackageDescription

// Runs every schedule of small programs of several threads: see README.md. It knows nothing of the code that it runs.

/// Threads are fibers here, which the runtime's records of exclusive accesses, one list for each thread, do not understand.
let settings: [SwiftSetting] = [.unsafeFlags(["-enforce-exclusivity=unchecked"])]

let package = Package(
    name: "Explorer",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Interleaving", targets: ["Interleaving"]),
        // All that the code which is explored depends on.
        .library(name: "CInterleaving", targets: ["CInterleaving"]),
        .plugin(name: "InstrumentSources", targets: ["InstrumentSources"]),
    ],
    targets: [
        // The scheduler: fibers, the search through their interleavings, and their steps.
        .target(
            name: "CInterleaving",
            cxxSettings: [.unsafeFlags(["-O2", "-fno-exceptions", "-fno-omit-frame-pointer"])]),
        // What scenarios are written with, the search for planted faults, traces, and the command line.
        .target(
            name: "Interleaving", dependencies: ["CInterleaving", "Instrumenting"], swiftSettings: settings),

        // Copies sources, with shadowing types and planted faults.
        .target(name: "Instrumenting"),
        .executableTarget(name: "instrument", dependencies: ["Instrumenting"]),
        .plugin(name: "InstrumentSources", capability: .buildTool(), dependencies: ["instrument"]),

        // Code to be explored, as an example: a stack without locks, and two locks.
        .target(
            name: "Examples", dependencies: ["CInterleaving"], path: "Examples", exclude: ["Original"],
            swiftSettings: settings, plugins: ["InstrumentSources"]),
        .testTarget(
            name: "InterleavingTests", dependencies: ["Interleaving", "CInterleaving", "Examples"],
            swiftSettings: settings),
        .testTarget(name: "InstrumentingTests", dependencies: ["Instrumenting"]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
