// The module's sources are those in Sources/Multicast of the root package; see Package.swift.
