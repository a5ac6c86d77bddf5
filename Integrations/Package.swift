// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that Deferred has no dependencies although what users have beside it is tried with it.
let package = Package(
    name: "Integrations",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "Deferred", path: ".."),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-service-context.git", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "AsyncHTTPClientTransport",
            dependencies: [
                .product(name: "DeferredOperations", package: "Deferred"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "AsyncHTTPClientTransportTests",
            dependencies: [
                "AsyncHTTPClientTransport", "FileServing",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredTesting", package: "Deferred"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .target(
            name: "NIOBridge",
            dependencies: [
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "NIOBridgeTests",
            dependencies: [
                "NIOBridge", .product(name: "DeferredTesting", package: "Deferred"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        // Clients that go away, and graceful shutdown.
        .target(
            name: "HummingbirdBridge",
            dependencies: [
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .testTarget(
            name: "HummingbirdBridgeTests",
            dependencies: [
                "HummingbirdBridge", "NIOBridge",
                .product(name: "DeferredTesting", package: "Deferred"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .target(
            name: "GRDBBridge",
            dependencies: [
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .testTarget(name: "GRDBBridgeTests", dependencies: ["GRDBBridge"]),
        // With Combine itself where there is one.
        .target(
            name: "CombineBridge",
            dependencies: [
                .product(name: "Deferred", package: "Deferred"),
                .product(
                    name: "OpenCombine", package: "OpenCombine",
                    condition: .when(platforms: [.linux, .windows, .android])),
            ]
        ),
        .testTarget(
            name: "CombineBridgeTests",
            dependencies: ["CombineBridge", .product(name: "DeferredTesting", package: "Deferred")]),
        // Needs no bridge: queues, channels and lists are sequences.
        .testTarget(
            name: "AsyncAlgorithmsTests",
            dependencies: [
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredTesting", package: "Deferred"),
                .product(name: "Multicast", package: "Deferred"),
            ]
        ),
        // What the article "Porting" ports.
        .testTarget(
            name: "PortingTests",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(
                    name: "OpenCombine", package: "OpenCombine",
                    condition: .when(platforms: [.linux, .windows, .android])),
                .product(
                    name: "OpenCombineDispatch", package: "OpenCombine",
                    condition: .when(platforms: [.linux, .windows, .android])),
            ]
        ),
        // Log lines and spans of requests, with swift-log, ServiceContext and swift-distributed-tracing.
        .testTarget(
            name: "RequestContextTests",
            dependencies: [
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredTesting", package: "Deferred"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceContextModule", package: "swift-service-context"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        // `Benchmarks/Sources/TransferSurvival` on this transport.
        .executableTarget(
            name: "TransferSurvival",
            dependencies: [
                "AsyncHTTPClientTransport", "Comparing", "FileServing",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Deferred", package: "Deferred"),
            ]
        ),
        // Symbolic links: to the server of the root package's tests, which has another name there, since two targets of
        // one name conflict; and to what is shared by benchmarks.
        .target(name: "FileServing"),
        .target(name: "Comparing"),
    ]
)
