// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Deferred",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Deferred", targets: ["Deferred"]),
        .library(name: "DeferredOperations", targets: ["DeferredOperations"]),
        .library(name: "DeferredTracing", targets: ["DeferredTracing"]),
        .library(name: "Multicast", targets: ["Multicast"]),
        .library(name: "DeferredTesting", targets: ["DeferredTesting"]),
        .executable(name: "fetch", targets: ["fetch"]),
    ],
    targets: [
        .target(name: "Deferred"),
        .target(name: "DeferredOperations", dependencies: ["Deferred"]),
        .target(name: "Multicast", dependencies: ["Deferred"]),
        .target(name: "DeferredTesting", dependencies: ["Deferred"]),
        .target(name: "DeferredTracing", dependencies: ["Deferred"]),

        // A small HTTP server on plain sockets that can misbehave on request: for `fetch --demo` and the
        // tests.
        .target(name: "LoopbackServer", path: "Examples/LoopbackServer"),
        .executableTarget(
            name: "fetch",
            dependencies: ["Deferred", "DeferredOperations", "DeferredTracing", "LoopbackServer"],
            path: "Examples/fetch"
        ),
        // A scene to watch: `swift run chatroom`.
        .executableTarget(
            name: "chatroom",
            dependencies: ["Deferred", "Multicast"],
            path: "Examples/chatroom"
        ),

        // Programs to read and to run: `swift run linkcheck --demo`, `swift run ingest --demo FILE`.
        .executableTarget(
            name: "linkcheck",
            dependencies: ["Deferred", "DeferredOperations", "LoopbackServer"],
            path: "Examples/linkcheck"
        ),
        .executableTarget(
            name: "ingest",
            dependencies: ["Deferred", "DeferredOperations", "LoopbackServer"],
            path: "Examples/ingest"
        ),
        // A screen's model, with its tests: `swift test --filter SearchTests`.
        .target(name: "search", dependencies: ["Deferred"], path: "Examples/search", exclude: ["Tests"]),

        // Shared by test targets: threads for tests that block, a log, a counter of live objects.
        .target(
            name: "TestSupport", dependencies: ["Deferred", "DeferredTesting"], path: "Tests/TestSupport"),
        // Runs the toolchain's compiler, for tests of what it accepts and refuses.
        .target(name: "CompilerProcess", path: "Tests/CompilerProcess"),
        .testTarget(
            name: "CompilerWorkTests",
            dependencies: ["CompilerProcess", "Deferred", "DeferredOperations", "Multicast", "TestSupport"]),
        .testTarget(
            name: "DeferredTests",
            dependencies: ["Deferred", "DeferredTesting", "DeferredTracing", "TestSupport"],
            exclude: ["Properties/README.md"]
        ),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "CompilerProcess", "Deferred", "DeferredOperations", "DeferredTesting", "DeferredTracing",
                "LoopbackServer", "Multicast", "TestSupport",
            ],
            exclude: ["Contexts"]
        ),
        // The programs above, run against a server of the tests.
        .testTarget(
            name: "ExamplesTests",
            dependencies: ["ingest", "linkcheck", "Deferred", "LoopbackServer", "TestSupport"]),
        .testTarget(
            name: "SearchTests", dependencies: ["search", "Deferred", "DeferredTesting"],
            path: "Examples/search/Tests"),
        // Modules, and code that uses them, isolated to the main actor by default.
        .testTarget(
            name: "MainActorTests",
            dependencies: ["Deferred", "DeferredTesting", "Multicast", "TestSupport"],
            swiftSettings: [.defaultIsolation(MainActor.self)]
        ),
        .testTarget(
            name: "DeferredTestingTests", dependencies: ["Deferred", "DeferredTesting", "TestSupport"]),
        .testTarget(
            name: "DeferredOperationsTests",
            dependencies: [
                "Deferred", "DeferredOperations", "DeferredTesting", "LoopbackServer", "TestSupport",
            ]
        ),
        .testTarget(name: "LoopbackServerTests", dependencies: ["LoopbackServer", "TestSupport"]),
        .testTarget(name: "FetchTests", dependencies: ["fetch", "LoopbackServer", "TestSupport"]),
        .testTarget(
            name: "MulticastTests", dependencies: ["Deferred", "Multicast", "DeferredTesting", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)

// A warning is an error where CI checks it. Other compilers and platforms may have warnings of their own.
#if os(Linux) && compiler(>=6.3) && compiler(<6.4)
for target in package.targets {
    target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)]
}
#endif

// `.ci/run` looks for data races in the optimised library. Optimising its tests as well takes the compiler twice as long. What is
// left out runs on Foundation's threads, and is searched in a debug build, by `.ci/nightly`.
if Context.environment["DEFERRED_RACES"] != nil {
    let tests = ["DeferredTests", "DeferredTestingTests", "MainActorTests", "MulticastTests"]
    let others = ["Deferred", "DeferredTesting", "DeferredTracing", "Multicast", "TestSupport"]
    package.products = []
    package.targets.removeAll { !(tests + others).contains($0.name) }
    for target in package.targets where target.type == .test {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Onone"])]
    }
}
