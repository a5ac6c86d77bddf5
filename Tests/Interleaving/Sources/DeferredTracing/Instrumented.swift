// The module's sources are those in Sources/DeferredTracing of the root package; see Package.swift.
