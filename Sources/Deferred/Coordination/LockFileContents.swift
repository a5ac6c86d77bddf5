/// What is in a lock file: the number of the process that has the lock, or had it when it died. And how that is
/// changed, so that a process may be killed, or a write may fail, at any moment.
///
/// A record is a process number of 11 digits, the first of them 0, and a line feed: 12 bytes. The file has room for
/// two. **The second record counts if it is complete, and otherwise the first.** A record that was written over another
/// one in part would look like a third number; so it is written to the other place first, where it counts once it is
/// complete. What a process of the number NEW does, what it leaves if it is killed during a call or after it, and whom
/// the next process to acquire the lock finds ("…" is a part, "mix" part of one record and the rest of another):
///
/// | call of NEW | killed during it | after it | the next finds |
/// |---|---|---|---|
/// | **acquire**, of no file: `open` | no file, or empty | empty | nobody |
/// | `flock`, `fstat`, `pread` | as it was | as it was | as NEW did |
/// | *where nobody is found:* `pwrite` to 0 | NEW… | NEW | nobody, then NEW |
/// | `ftruncate` to 12, of a longer file | NEW | NEW | NEW |
/// | *where OLD is found in the second place:* `pwrite` OLD to 0 | mix OLD | OLD OLD | OLD |
/// | `ftruncate` to 12 | OLD OLD | OLD | OLD |
/// | *where OLD is found:* `pwrite` NEW to 12 | OLD NEW… | OLD NEW | OLD, then NEW |
/// | `pwrite` NEW to 0 | mix NEW | NEW NEW | NEW |
/// | `ftruncate` to 12 | NEW NEW | NEW | NEW |
/// | **body** | NEW | NEW | NEW |
/// | **release:** `ftruncate` to 0 | NEW | empty | NEW, then nobody |
/// | `fstat`, `unlink` | empty | no file | nobody |
/// | `flock`, `close` | no file | no file | nobody |
///
/// Each of these contents is the beginning of the next acquire, which makes the calls of the row that it finds itself
/// in and so leaves one record. `flock` admits one process at a time to the calls after it, so that no two recover at
/// once; a file that is not at its path any more when it has been locked is opened anew. A process that reads the owner
/// without the lock sees one of these contents.
///
/// A call may fail instead: the disk is full, the folder cannot be written. The contents are then those of the column
/// "killed during it".
///
/// - Acquiring fails if NEW does not count yet, and goes on without the rest of the calls if it does.
/// - Releasing goes on: a file that cannot be removed stays, empty.
///
/// So a number stays only of a process that died while it had the lock. Other contents are
///
/// - those of the older format: a number without leading zeros, and a line feed; perhaps followed by the rest of a
///   longer number and its line feed, if the process was killed before it truncated the file. The first number counts.
///   (A process that expects this format can read a single record, too);
/// - bytes that are 0, which a file system may have in place of what was written last before a power failure. They
///   count as not written;
/// - foreign: the file is refused, and left as it is.
struct LockFileContents {
    /// A change of the file, by one call.
    enum Change: Equatable {
        case write([UInt8], at: Int)
        case truncate(to: Int)
    }

    /// How many bytes to read, in order to see also that there are too many.
    static let readLength = 2 * recordLength + 1
    private static let recordLength = 12

    /// The process that has the lock, or had it when it died; nil if no number is complete.
    let owner: Int32?
    private let isSecond: Bool
    private let length: Int

    /// Reads `bytes`, the beginning of the file; returns nil if they are foreign.
    init?(_ bytes: [UInt8]) {
        let (first, second) = (bytes.prefix(Self.recordLength), bytes.dropFirst(Self.recordLength))
        guard bytes.count < Self.readLength,
            bytes.allSatisfy({ Self.isDigit($0) || $0 == 0 || $0 == Self.lineFeed })
        else { return nil }
        length = bytes.count
        if let newest = Self.number(in: second) {
            (owner, isSecond) = (newest, true)
        } else if Self.isPart(second), let older = Self.olderNumber(in: first) {
            (owner, isSecond) = (older, false)
        } else if Self.isPart(second), Self.isPart(first) {
            (owner, isSecond) = (Self.number(in: first), false)
        } else {
            return nil
        }
    }

    /// Returns the changes that make `process` the owner: those until its number counts, of which none may fail, and
    /// then those that leave it as the only record, which are made as far as they succeed.
    func changes(owner process: Int32) -> (recording: [Change], tidying: [Change]) {
        let asFirst = Self.asOnlyRecord(process)
        guard let owner else {
            return ([asFirst[0]], length > Self.recordLength ? [asFirst[1]] : [])
        }
        let asSecond = Change.write(Self.record(of: process), at: Self.recordLength)
        return ((isSecond ? Self.asOnlyRecord(owner) : []) + [asSecond], asFirst)
    }

    private static func asOnlyRecord(_ process: Int32) -> [Change] {
        [.write(record(of: process), at: 0), .truncate(to: recordLength)]
    }

    static func record(of process: Int32) -> [UInt8] {
        let digits = Array("\(process)".utf8)
        return Array(repeating: zero, count: recordLength - 1 - digits.count) + digits + [lineFeed]
    }

    /// Returns the number in a record; nil if that is not complete.
    private static func number(in record: ArraySlice<UInt8>) -> Int32? {
        guard record.count == recordLength, record.last == lineFeed, record.first == zero else { return nil }
        return number(record.dropLast())
    }

    /// Whether `bytes` can be a record, or the part of one that was written.
    private static func isPart(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.isEmpty || bytes.first == zero || bytes.first == 0
    }

    /// Returns the number in the first line, if it is one of the older format, followed by nothing or by the rest of
    /// another one.
    private static func olderNumber(in bytes: ArraySlice<UInt8>) -> Int32? {
        guard let end = bytes.firstIndex(of: lineFeed), bytes.first != zero else { return nil }
        let written = bytes.prefix { $0 != 0 }
        guard written.last == lineFeed, written[(end + 1)...].dropLast().allSatisfy(isDigit) else {
            return nil
        }
        return number(bytes[..<end])
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int32? {
        guard digits.allSatisfy(isDigit), let number = Int32(String(decoding: digits, as: UTF8.self)) else {
            return nil
        }
        return number > 0 ? number : nil
    }

    private static let zero = UInt8(ascii: "0")
    private static let lineFeed = UInt8(ascii: "\n")
    private static func isDigit(_ byte: UInt8) -> Bool { zero...UInt8(ascii: "9") ~= byte }
}
