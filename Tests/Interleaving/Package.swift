// swift-tools-version: 6.2
import PackageDescription

// Runs every schedule of small programs on the library: see README.md. A package of its own, since it compiles the library's
// sources a second time, with scheduling points in them.

/// What compiles the library's sources, and the scenarios. Threads are fibers here, which the runtime's
/// records of exclusive accesses, one list for each thread, do not understand. The library's assertions are checked: what they
/// say has to hold in every schedule.
let settings: [SwiftSetting] = [
    .define("INTERLEAVING"),
    .unsafeFlags(["-enforce-exclusivity=unchecked", "-assert-config", "Debug", "-g"]),
]
let explorer = Target.Dependency.product(name: "Interleaving", package: "Explorer")
let scheduler = Target.Dependency.product(name: "CInterleaving", package: "Explorer")

/// A module of the library, compiled from the sources that its folder `Original` is a link to.
func instrumented(
    _ name: String, _ dependencies: [Target.Dependency] = [], flags: [String] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies + [scheduler], exclude: ["Original"],
        swiftSettings: settings + [.unsafeFlags(flags)],
        plugins: [.plugin(name: "InstrumentSources", package: "Explorer")])
}

let package = Package(
    name: "DeferredInterleaving",
    platforms: [.macOS(.v15)],
    dependencies: [.package(path: "Explorer")],
    targets: [
        instrumented("Deferred"),
        // Two of its objects are searched, which need no optimisation: half a minute less for the compiler.
        instrumented("DeferredOperations", ["Deferred"], flags: ["-enable-testing", "-Onone"]),
        instrumented("DeferredTesting", ["Deferred"]),
        instrumented("DeferredTracing", ["Deferred"]),
        instrumented("Multicast", ["Deferred"]),

        // What the programs and properties, in explore/Properties, share with the library's tests.
        .target(name: "TestSupport", dependencies: ["Deferred"], swiftSettings: settings),
        .executableTarget(
            name: "explore",
            dependencies: [
                explorer, scheduler, "Deferred", "DeferredOperations", "DeferredTesting", "DeferredTracing",
                "Multicast",
                "TestSupport",
            ],
            exclude: ["Properties/README.md"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
