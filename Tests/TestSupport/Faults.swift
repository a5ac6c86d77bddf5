public import Testing

/// Collects what is wrong in many cases that are alike, such as generated ones, and makes one issue of it.
public struct Faults {
    private var found: [String] = []

    /// Creates an empty collection.
    public init() {}

    /// Adds a fault, unless `isRight`.
    public mutating func check(_ isRight: Bool, _ fault: @autoclosure () -> String) {
        if !isRight { found.append(fault()) }
    }

    /// Fails the test if there is a fault: with their number, and the first ones.
    public func report(sourceLocation: SourceLocation = #_sourceLocation) {
        guard !found.isEmpty else { return }
        let first = found.prefix(5).joined(separator: "\n")
        Issue.record("\(found.count) faults, such as:\n\(first)", sourceLocation: sourceLocation)
    }
}
