// swift-tools-version: 6.2
import PackageDescription

/// Built with `--traits Peers` only, as they take minutes to fetch and to build.
let peers = TargetDependencyCondition.when(traits: ["Peers"])

// A separate package, so that Deferred has no dependencies although its peers are measured with it.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    traits: ["Peers"],
    dependencies: [
        .package(name: "Deferred", path: ".."),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", exact: "0.14.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
    ],
    targets: [
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "AllocationCounter", "Comparing", "InstructionCounter",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "Multicast", package: "Deferred"),
                .product(name: "NIOCore", package: "swift-nio", condition: peers),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: peers),
                .product(name: "NIOPosix", package: "swift-nio", condition: peers),
                .product(name: "OpenCombine", package: "OpenCombine", condition: peers),
                .product(name: "OpenCombineDispatch", package: "OpenCombine", condition: peers),
            ]
        ),
        // Compares Multicast's types with the usual alternatives.
        .executableTarget(
            name: "MulticastBenchmarks",
            dependencies: ["Comparing", .product(name: "Multicast", package: "Deferred")]
        ),
        // Compares locks, semaphores and queues with actors and with other libraries' channels, and measures the
        // memory of pending timers.
        .executableTarget(
            name: "CoordinationBenchmarks",
            dependencies: [
                "AllocationCounter", "Comparing",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms", condition: peers),
                .product(name: "NIOCore", package: "swift-nio", condition: peers),
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredTesting", package: "Deferred"),
            ]
        ),
        // Counts what n and 4n of everything take: no cost may grow faster than n.
        .executableTarget(
            name: "Shapes",
            dependencies: [
                "AllocationCounter", "Comparing", "StepCounter",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredTesting", package: "Deferred"),
                .product(name: "DeferredTracing", package: "Deferred"),
                .product(name: "Multicast", package: "Deferred"),
            ]
        ),
        // Does one thing again and again, beside things that live as long as the program: memory may not grow.
        .executableTarget(
            name: "Loops",
            dependencies: [
                "AllocationCounter", "Comparing", "StepCounter",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredTesting", package: "Deferred"),
                .product(name: "DeferredTracing", package: "Deferred"),
                .product(name: "Multicast", package: "Deferred"),
            ]
        ),
        // Passes elements and values to consumers that end early, in each way: none may be lost (V1, V2).
        .executableTarget(
            name: "Conservation",
            dependencies: [
                "Comparing",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredTesting", package: "Deferred"),
            ]
        ),
        // Shared by the programs: a clock, a timer that alternates between jobs, tables.
        .target(name: "Comparing"),
        // Compares transfers with plain URLSession, and the fetcher with curl, wget and aria2c.
        .executableTarget(
            name: "OperationsBenchmarks",
            dependencies: [
                "Comparing", "FileServing",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredOperations", package: "Deferred"),
            ]
        ),
        // Transfers from servers that misbehave at random must not stop the process; and what a transfer costs that waits.
        .executableTarget(
            name: "TransferSurvival",
            dependencies: [
                "Comparing", "FileServing",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredOperations", package: "Deferred"),
            ]
        ),
        // A symbolic link to the server of the root package's examples (Examples/LoopbackServer), which is
        // not a product of it. The target has another name than there, since two targets of one name
        // conflict.
        .target(name: "FileServing"),
        // Replaces the allocator's functions and counts calls and bytes while counting is on.
        .target(name: "AllocationCounter"),
        // Reads the counters of code that was compiled with them.
        .target(name: "StepCounter"),
        // Takes a child process step by step.
        .target(name: "InstructionCounter"),
    ],
    swiftLanguageModes: [.v6]
)
