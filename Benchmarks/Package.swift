// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that Deferred stays without dependencies while its peers are measured beside it.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "Deferred", path: ".."),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", exact: "0.14.0"),
    ],
    targets: [
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "AllocationCounter",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "OpenCombineDispatch", package: "OpenCombine"),
            ]
        ),
        // Multicast's types beside what one would use otherwise.
        .executableTarget(
            name: "MulticastBenchmarks",
            dependencies: ["Comparing", .product(name: "Multicast", package: "Deferred")]
        ),
        // Locks, semaphores and queues beside actors that do the same, and what timers take of memory.
        .executableTarget(
            name: "CoordinationBenchmarks",
            dependencies: [
                "AllocationCounter", "Comparing",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredTesting", package: "Deferred"),
            ]
        ),
        // Ways of doing a job, timed in turn.
        .target(name: "Comparing"),
        // Transfers beside plain URLSession, and the fetcher beside curl and its like.
        .executableTarget(
            name: "OperationsBenchmarks",
            dependencies: [
                "FileServing",
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredOperations", package: "Deferred"),
            ]
        ),
        // A link to the server of the root package's examples (Examples/LoopbackServer), which is no product
        // of it; its target there has another name, since two of one name do not go together.
        .target(name: "FileServing"),
        // Stands between the program and its allocator and counts, while asked to.
        .target(name: "AllocationCounter"),
    ],
    swiftLanguageModes: [.v6]
)
