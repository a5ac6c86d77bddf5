internal import Foundation

/// An answer that `validateResponse` has not accepted yet, with the part of its body that has been received: in memory,
/// and what exceeds that in a temporary file without a name.
///
/// The sink receives it only when it has been accepted, so that a refused answer changes nothing.
///
/// Not thread-safe; a transfer's lock protects it.
final class StagedAnswer {
    let part: ContentRange?
    let announced: Int64?
    private var data = Data()
    private var overflow: OverflowFile?

    /// How much is kept in memory, in bytes, and at most returned at once.
    private static let memoryByteCount = 1 << 20

    init(part: ContentRange?, announced: Int64?) {
        self.part = part
        self.announced = announced
    }

    /// Adds the next piece of the body.
    func append(_ piece: Data) throws(DataSourceError) {
        if overflow?.isEmpty ?? true, data.count + piece.count <= Self.memoryByteCount {
            return data.append(piece)
        }
        if let overflow { return try overflow.append(piece) }
        let file = try OverflowFile()
        overflow = file
        try file.append(piece)
    }

    /// Removes the first bytes, and returns them; nil if there are none.
    func take() throws(DataSourceError) -> Data? {
        if !data.isEmpty {
            defer { data = Data() }
            return data
        }
        guard let overflow, !overflow.isEmpty else { return nil }
        return try overflow.take(upTo: Self.memoryByteCount)
    }
}
