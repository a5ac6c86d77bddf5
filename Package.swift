// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Deferred",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Deferred", targets: ["Deferred"]),
        .library(name: "DeferredOperations", targets: ["DeferredOperations"]),
        .library(name: "Multicast", targets: ["Multicast"]),
        .library(name: "DeferredTesting", targets: ["DeferredTesting"]),
        .executable(name: "fetch", targets: ["fetch"]),
    ],
    targets: [
        .target(name: "Deferred"),
        .target(name: "DeferredOperations", dependencies: ["Deferred"]),
        .target(name: "Multicast", dependencies: ["Deferred"]),
        .target(name: "DeferredTesting", dependencies: ["Deferred"]),

        // A small HTTP server on plain sockets that can misbehave on request: for `fetch --demo` and the
        // tests.
        .target(name: "LoopbackServer", path: "Examples/LoopbackServer"),
        .executableTarget(
            name: "fetch",
            dependencies: ["Deferred", "DeferredOperations", "LoopbackServer"],
            path: "Examples/fetch"
        ),
        // A scene to watch: `swift run chatroom`.
        .executableTarget(
            name: "chatroom",
            dependencies: ["Deferred", "Multicast"],
            path: "Examples/chatroom"
        ),

        // Where tests run that block, or compute for long.
        .target(name: "TestThreads", path: "Tests/TestThreads"),
        .testTarget(name: "DeferredTests", dependencies: ["Deferred", "DeferredTesting", "TestThreads"]),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "Deferred", "DeferredOperations", "DeferredTesting", "LoopbackServer", "Multicast",
            ]
        ),
        .testTarget(name: "DeferredTestingTests", dependencies: ["Deferred", "DeferredTesting"]),
        .testTarget(
            name: "DeferredOperationsTests",
            dependencies: [
                "Deferred", "DeferredOperations", "DeferredTesting", "LoopbackServer", "TestThreads",
            ]
        ),
        .testTarget(name: "LoopbackServerTests", dependencies: ["LoopbackServer"]),
        .testTarget(name: "FetchTests", dependencies: ["fetch", "LoopbackServer"]),
        .testTarget(
            name: "MulticastTests", dependencies: ["Deferred", "Multicast", "DeferredTesting", "TestThreads"]),
    ],
    swiftLanguageModes: [.v6]
)
