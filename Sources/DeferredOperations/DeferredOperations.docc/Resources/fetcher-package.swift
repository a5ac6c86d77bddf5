// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Fetcher",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: "../Deferred")
    ],
    targets: [
        .executableTarget(
            name: "Fetcher",
            dependencies: [
                .product(name: "Deferred", package: "Deferred"),
                .product(name: "DeferredOperations", package: "Deferred"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
