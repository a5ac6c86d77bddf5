// swift-tools-version: 6.2
import PackageDescription

// A model checker for the library: see README.md. A package of its own, since it compiles the library's
// sources a second time, with scheduling points in them.

/// What compiles the library's sources, and the scenarios. Threads are fibers here, which the runtime's
/// records of exclusive accesses, one list for each thread, do not understand.
let settings: [SwiftSetting] = [
    .define("INTERLEAVING"), .unsafeFlags(["-enforce-exclusivity=unchecked", "-g"]),
]

/// A module of the library, compiled from `Sources/NAME` of the root package.
func instrumented(
    _ name: String, _ dependencies: [Target.Dependency] = [], isTestable: Bool = false
) -> Target {
    .target(
        name: name, dependencies: dependencies + ["CInterleaving"],
        swiftSettings: settings + (isTestable ? [.unsafeFlags(["-enable-testing"])] : []),
        plugins: ["InstrumentSources"])
}

let package = Package(
    name: "Interleaving",
    platforms: [.macOS(.v15)],
    targets: [
        // The scheduler: fibers, the search through their interleavings, and traces.
        .target(
            name: "CInterleaving",
            cxxSettings: [.unsafeFlags(["-O2", "-fno-exceptions", "-fno-omit-frame-pointer"])]),

        // Copies the library's sources, with shadowing types and planted faults.
        .plugin(name: "InstrumentSources", capability: .buildTool(), dependencies: ["instrument"]),
        .executableTarget(name: "instrument", dependencies: ["PlantedFaults"]),
        .target(name: "PlantedFaults"),

        instrumented("Deferred"),
        instrumented("DeferredOperations", ["Deferred"], isTestable: true),
        instrumented("DeferredTesting", ["Deferred"]),
        instrumented("DeferredTracing", ["Deferred"]),
        instrumented("Multicast", ["Deferred"]),

        // What the model of the contract and its programs, in explore/Model, share with the library's tests.
        .target(name: "TestSupport", dependencies: ["Deferred"], swiftSettings: settings),
        .executableTarget(
            name: "explore",
            dependencies: [
                "CInterleaving", "Deferred", "DeferredOperations", "DeferredTesting", "DeferredTracing",
                "Multicast", "PlantedFaults", "TestSupport",
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
