import Deferred
import DeferredTesting
import Foundation
import Testing

/// A lock never changes files of others.
@Suite("DeferredFilesystemLock and files of others")
final class LockFileSafetyTests {
    let clock = ManualClock()
    let folder: URL
    let path: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("lock").path
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func acquire() throws -> DeferredFilesystemLock.Permit {
        try DeferredFilesystemLock(path: path, on: clock).tryAcquire()
    }

    private func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test("release leaves a file that somebody else put at the path")
    func foreignFile() throws {
        let permit = try acquire()
        try FileManager.default.removeItem(atPath: path)
        try "my diary".write(toFile: path, atomically: true, encoding: .utf8)
        permit.release()
        #expect(text(path) == "my diary")
    }

    @Test("release leaves the lock of the next holder, where the file of the first was removed")
    func foreignLock() throws {
        let first = try acquire()
        try FileManager.default.removeItem(atPath: path)
        let second = try acquire()
        first.release()
        #expect(text(path) != nil)
        #expect(throws: DeferredFilesystemLock.Failure.self) { try self.acquire() }
        second.release()
        #expect(text(path) == nil)
    }

    @Test("release removes its own file where the folder was moved meanwhile, and none in another's place")
    func movedFolder() throws {
        let permit = try acquire()
        let moved = folder.appendingPathExtension("moved")
        defer { try? FileManager.default.removeItem(at: moved) }
        try FileManager.default.moveItem(at: folder, to: moved)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try "my diary".write(toFile: path, atomically: true, encoding: .utf8)
        permit.release()
        #expect(text(path) == "my diary")
        #expect(text(moved.appendingPathComponent("lock").path) == nil)
    }

    @Test("a relative path is resolved when the lock is created")
    func relativePath() {
        let lock = DeferredFilesystemLock(path: "some.lock", on: clock)
        #expect(lock.path == FileManager.default.currentDirectoryPath + "/some.lock")
        #expect(DeferredFilesystemLock(path: path, on: clock).path == path)
    }

    @Test("a symbolic link at the path is refused, and nothing is created or written where it leads")
    func symbolicLinks() throws {
        let target = folder.appendingPathComponent("target").path
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        let dangling = #expect(throws: DeferredFilesystemLock.Failure.self) { try self.acquire() }
        #expect(dangling?.description == "\(path) cannot be used as a lock: it is a symbolic link")
        #expect(text(target) == nil)
        for content in ["", "4711\n"] {
            try content.write(toFile: target, atomically: true, encoding: .utf8)
            #expect(throws: DeferredFilesystemLock.Failure.self) { try self.acquire() }
            #expect(text(target) == content)
        }
        // The owner in the failure of a timeout is not read through a link, either.
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
    }

    @Test("a pipe at the path is refused at once, and left as it is")
    func pipe() throws {
        #expect(mkfifo(path, 0o600) == 0)
        let refusal = #expect(throws: DeferredFilesystemLock.Failure.self) { try self.acquire() }
        #expect(refusal?.description == "\(path) cannot be used as a lock: it is not a regular file")
        #expect(FileManager.default.fileExists(atPath: path))
    }
}
