/// Returns the median, or nil if there are no figures.
package func median(_ figures: [Double]) -> Double? {
    guard !figures.isEmpty else { return nil }
    let sorted = figures.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
