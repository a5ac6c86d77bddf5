import DeferredTesting
import Foundation
import TestSupport
import Testing

@testable import Deferred

/// What a process leaves in a lock file, wherever it was killed, and what the next one makes of it.
@Suite("LockFile", .watchdog)
final class LockFileTests {
    let folder: URL
    let path: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("lock").path
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
    private var bytes: [UInt8]? { FileManager.default.contents(atPath: path).map(Array.init) }

    /// Acquires the lock of a file with these contents, and returns the predecessor.
    private func predecessor(_ contents: [UInt8]) throws -> Int32? {
        try write(contents)
        let permit = try DeferredFilesystemLock(path: path).tryAcquire()
        defer { permit.release() }
        #expect(bytes == Array(String(format: "%011d\n", getpid()).utf8))
        return permit.predecessor
    }

    @Test(
        "whatever a killed process or a power failure left, the lock is acquired",
        arguments: [
            ("", nil),
            // The older format, and what its processes left when they were killed before they truncated the file.
            ("4711\n", 4711), ("2147483647\n", 2_147_483_647), ("281673\n3\n", 281_673), ("12345\n\n", 12345),
            ("4711\n004711\n", 4711),
            // One record, a part of it, and two.
            ("00000004711\n", 4711), ("0", nil), ("00000004711", nil),
            ("00000004711\n00000", 4711), ("00000004711\n00000000042\n", 42),
            ("00000000011\n00000000042\n", 42),
            ("4711\n\0\0\0\0\0\0\0", 4711), ("4711\n\0\0\0\0\0\0\000000000042", 4711),
            ("4711\n\0\0\0\0\0\0\000000000042\n", 42),
            // What a file system puts in place of what was not written to the disk.
            ("\0\0\0\0\0\0\0\0\0\0\0\0", nil), ("\0\0\0\0\0", nil),
            ("00000004711\n\0\0\0\0\0\0\0\0\0\0\0\0", 4711),
        ] as [(String, Int32?)])
    func remains(contents: String, owner: Int32?) throws {
        #expect(try predecessor(Array(contents.utf8)) == owner)
        #expect(bytes == nil)
    }

    @Test(
        "O5: a file with other contents is refused, and left as it is",
        arguments: [
            "4711", "my diary", "\n", "-5\n", "4711 \n", "99999999999\n", "1\n2\n3\n",
            "4711\n4712\n4713\n4714\n",
            "00000004711\n00000000042\n0", "00000004711\nmy diary", "00000004711\n4712\n",
        ])
    func foreign(contents: String) throws {
        try write(Array(contents.utf8))
        let lock = DeferredFilesystemLock(path: path)
        let refusal = #expect(throws: DeferredFilesystemLock.Failure.self) { try lock.tryAcquire() }
        #expect(refusal == .unusable(path: path, reason: "it exists and is not a lock file"))
        #expect(bytes == Array(contents.utf8))
    }

    @Test("a process that released the lock is no predecessor, where its file could not be removed")
    func moved() throws {
        let lock = DeferredFilesystemLock(path: path)
        let permit = try lock.tryAcquire()
        try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
        permit.release()
        try FileManager.default.moveItem(atPath: path + ".moved", toPath: path)
        let next = try lock.tryAcquire()
        #expect(next.predecessor == nil)
        next.release()
    }

    @Test("nor where the folder cannot be written")
    func readOnlyFolder() async throws {
        try write([])
        chmod(path, 0o666)
        chmod(folder.path, 0o555)
        defer { chmod(folder.path, 0o755) }
        await #expect(processExitsWith: .success) { [path = path as String] in
            // The superuser may write everywhere.
            if getuid() == 0, setgid(65534) != 0 || setuid(65534) != 0 { exit(2) }
            let lock = DeferredFilesystemLock(path: path)
            for _ in 0..<2 {
                let permit = try lock.tryAcquire()
                guard permit.predecessor == nil else { exit(3) }
                permit.release()
                guard FileManager.default.contents(atPath: path) == Data() else { exit(4) }
            }
        }
    }

    // MARK: Every moment at which a process may be killed

    /// The contents of a file after each part of the changes that `process` makes, and whose number is to be found
    /// there: after a call that wrote only some bytes, too.
    private func moments(_ before: [UInt8], _ process: Int32) throws -> [(bytes: [UInt8], owner: Int32?)] {
        guard let contents = LockFileContents(before) else { throw TestError() }
        let (recording, tidying) = contents.changes(owner: process)
        var (bytes, moments) = (before, [(bytes: before, owner: contents.owner)])
        for (index, change) in (recording + tidying).enumerated() {
            let isOwner = index >= recording.count
            switch change {
            case .truncate(let length):
                bytes.removeSubrange(min(length, bytes.count)...)
            case .write(let written, let offset):
                for count in 1..<written.count {
                    let part = replacing(bytes, with: written.prefix(count), at: offset)
                    moments.append((part, isOwner ? process : contents.owner))
                }
                bytes = replacing(bytes, with: written[...], at: offset)
            }
            moments.append((bytes, index >= recording.count - 1 ? process : contents.owner))
        }
        return moments
    }

    private func replacing(_ bytes: [UInt8], with part: ArraySlice<UInt8>, at offset: Int) -> [UInt8] {
        var bytes = bytes + Array(repeating: 0, count: max(0, offset + part.count - bytes.count))
        bytes.replaceSubrange(offset..<offset + part.count, with: part)
        return bytes
    }

    private let beginnings = [
        "", "7\n", "281673\n", "281673\n3\n", "12345\n\n", "2147483647\n", "00000000007\n", "00002\0\0",
        "\0\0\0\0\0\0\0\0\0\0\0\0", "02147483647\n\0\0\0\0\0\0\0\0\0\0\0\0",
    ].map { Array($0.utf8) }

    @Test("killed at any moment, again and again, processes leave a number that is right")
    func everyMoment() throws {
        var (seen, rest) = (Set(beginnings), beginnings)
        while let before = rest.popLast() {
            for process: Int32 in [7, 281_673] {
                for (bytes, owner) in try moments(before, process) {
                    if LockFileContents(bytes).map({ $0.owner }) != .some(owner) {
                        Issue.record(
                            "\(before), then \(bytes): \(String(describing: LockFileContents(bytes)))")
                    }
                    if seen.insert(bytes).inserted { rest.append(bytes) }
                }
            }
        }
        // All contents that there can be: each of them was continued in each way.
        #expect(seen.count > 100 && seen.allSatisfy { $0.count <= 24 })
        for bytes in seen {
            let last = try moments(bytes, 7).last
            #expect(last?.bytes == LockFileContents.record(of: 7))
        }
    }

    @Test("at each of these moments, the next process acquires the lock of the file on the disk")
    func everyMomentOnDisk() throws {
        for before in beginnings {
            for (bytes, owner) in try moments(before, 1_999_999_999) {
                #expect(try predecessor(bytes) == owner, "\(bytes)")
                #expect(self.bytes == nil)
            }
        }
    }

    #if os(Linux)
    @Test("a process that is killed while it writes, by the limit of a file's size")
    func killedWhileWriting() async throws {
        for (before, limit, owner) in [("", 5, nil), ("4711\n", 17, 4711), ("00000004711\n", 23, 4711)]
            as [(String, Int, Int32?)]
        {
            try write(Array(before.utf8))
            let limit = limit
            await #expect(processExitsWith: .signal(SIGXFSZ)) {
                [path = path as String, limit = limit as Int] in
                // Which a thread of Dispatch blocks.
                var none = sigset_t()
                sigemptyset(&none)
                pthread_sigmask(SIG_SETMASK, &none, nil)
                signal(SIGXFSZ, SIG_DFL)
                limitFileSize(to: limit)
                // Ends in the second call of `write`: the first has written up to the limit.
                _ = try DeferredFilesystemLock(path: path).tryAcquire()
            }
            #expect(bytes?.count == limit)
            #expect(try predecessor(try #require(bytes)) == owner)
        }
    }

    @Test(
        "where the file cannot be written to its end, acquiring fails, and the file names whom it named before"
    )
    func fullDisk() async throws {
        for (before, limit) in [("", 5), ("4711\n", 17)] {
            try write(Array(before.utf8))
            await #expect(processExitsWith: .success) { [path = path as String, limit = limit as Int] in
                signal(SIGXFSZ, SIG_IGN)
                limitFileSize(to: limit)
                do {
                    _ = try DeferredFilesystemLock(path: path).tryAcquire()
                    exit(2)
                } catch DeferredFilesystemLock.Failure.unusable(_, let reason) {
                    exit(reason == "File too large" ? EXIT_SUCCESS : 3)
                }
            }
            #expect((bytes == nil) == before.isEmpty)
            #expect(try predecessor(bytes ?? []) == (before.isEmpty ? nil : 4711))
        }
    }
    #endif

    @Test(
        "R12, R13: processes that are killed at random leave the lock to the next, with their number or none")
    func killedAtRandom() async throws {
        try write([])
        for _ in 0..<3 {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                Thread.detachNewThread {
                    for _ in 0..<Int.random(in: 0..<2000) { sched_yield() }
                    kill(getpid(), SIGKILL)
                }
                let lock = DeferredFilesystemLock(path: path)
                // Released with its permit.
                while true { _ = try lock.tryAcquire() }
            }
            let left = bytes ?? []
            let contents = try #require(LockFileContents(left), "\(left)")
            #expect(try predecessor(left) == contents.owner)
            #expect(contents.owner != getpid())
            try write(left)
        }
    }
}

#if os(Linux)
/// Ends this process, or has its calls fail, when it writes beyond so many bytes of a file.
private func limitFileSize(to limit: Int) {
    var limits = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
    guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0 else { exit(4) }
}
#endif
