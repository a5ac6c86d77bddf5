// swift-tools-version: 6.2
import PackageDescription

// As Xcode sets up new apps: what does not say otherwise belongs to the main actor.
let settings: [SwiftSetting] = [
    .defaultIsolation(MainActor.self), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "Screen",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    dependencies: [.package(name: "Deferred", path: "../../..")],
    targets: [
        .target(
            name: "Screen",
            dependencies: [
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredOperations", package: "Deferred"),
                .product(name: "Multicast", package: "Deferred"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ScreenTests",
            dependencies: ["Screen", .product(name: "DeferredTesting", package: "Deferred")],
            swiftSettings: settings
        ),
        // XCTestCase is isolated to nothing: its subclasses say where they run.
        .testTarget(
            name: "ScreenXCTests",
            dependencies: ["Screen", .product(name: "DeferredTesting", package: "Deferred")]
        ),
    ]
)
