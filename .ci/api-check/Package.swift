// swift-tools-version: 6.2
import PackageDescription

// Looks over the public interface, for `.ci/api`. A package of its own, so that users of the library do not
// build it.
let package = Package(
    name: "api-check",
    targets: [.executableTarget(name: "api-check")],
    swiftLanguageModes: [.v6]
)
