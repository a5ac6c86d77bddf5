// The module's sources are those in Sources/DeferredOperations of the root package; see Package.swift.
