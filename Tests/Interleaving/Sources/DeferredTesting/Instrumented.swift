// The module's sources are those in Sources/DeferredTesting of the root package; see Package.swift.
