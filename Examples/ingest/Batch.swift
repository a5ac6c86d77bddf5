import Foundation

/// Whole lines of the source, which are converted and written together.
struct Batch: Sendable {
    let bytes: Data
    /// The offset in the source of what follows them.
    let end: Int
    /// What is written, and how many measurements that are.
    var text = ""
    var count = 0

    func converted() -> Batch {
        var converted = self
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: ",")
            guard fields.count == 2, let celsius = Double(fields[1]) else { continue }
            converted.text += "\(fields[0]),\((celsius * 1.8 + 32).rounded())\n"
            converted.count += 1
        }
        return converted
    }
}
