import Deferred
import DeferredTesting
import Foundation
import TestSupport
import Testing

@Suite("DeferredFilesystemLock", .watchdog)
final class DeferredFilesystemLockTests {
    let clock = ManualClock()
    let folder: URL
    let path: String
    let process = ProcessInfo.processInfo.processIdentifier

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("lock").path
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// What is in the file while this process has the lock.
    private var record: String { String(format: "%011d\n", process) }

    private func lock() -> DeferredFilesystemLock {
        DeferredFilesystemLock(path: path, lookingEvery: .seconds(1), timer: clock)
    }

    private var text: String? { text(path) }
    private func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test("names its process in the file while it is locked, and removes the file")
    func file() throws {
        let permit = try successResult(of: lock().acquire())
        #expect(text == record)
        #expect(permit.predecessor == nil)
        permit.release()
        permit.release()
        #expect(text == nil)
    }

    @Test("another lock of the same file fails with the owner, or waits and tries again")
    func contended() throws {
        let permit = try lock().tryAcquire()
        let error = #expect(throws: DeferredFilesystemLock.Failure.self) { try self.lock().tryAcquire() }
        #expect(error == .held(path: path, owner: process))
        #expect(error?.description == "\(path) is locked by process \(process)")
        let waiting = lock().acquire()
        clock.advance(by: .seconds(5))
        try expectNoResult(waiting)
        permit.release()
        try expectNoResult(waiting)
        clock.advance(by: .seconds(1))
        try successResult(of: waiting).release()
        #expect(text == nil)
    }

    @Test("after the timeout it fails with the owner, and tries no more")
    func timeout() throws {
        let permit = try lock().tryAcquire()
        let waiting = lock().acquire(timeout: .seconds(3))
        clock.advance(by: .seconds(2))
        try expectNoResult(waiting)
        clock.advance(by: .seconds(1))
        #expect(
            try failureResult(of: waiting) as? DeferredFilesystemLock.Failure
                == .held(path: path, owner: process))
        #expect(clock.scheduled.isEmpty)
        permit.release()
    }

    @Test("within a process, those who wait for one object are served in order, and only one tries")
    func inOrder() throws {
        let (lock, log) = (lock(), SharedLog<String>())
        let held = try self.lock().tryAcquire()
        let runs = (0..<3).map { number in lock.syncRun { log.add("\(number)") } }
        #expect(clock.scheduled.count == 1)
        held.release()
        clock.advance(by: .seconds(1))
        #expect(log.all == ["0", "1", "2"])
        for run in runs { try successResult(of: run) }
        #expect(text == nil)
    }

    @Test("run releases the lock on every path: value, error, throw, cancel")
    func run() async throws {
        let lock = lock()
        try successResult(
            of: lock.syncRun { [path] in #expect(FileManager.default.fileExists(atPath: path)) })
        #expect(try failureResult(of: lock.syncRun { throw TestError() }) is TestError)
        #expect(try failureResult(of: lock.run { Deferred<Int>.rejected(TestError()) }) is TestError)
        #expect(try await lock.asyncRun { await Task.yield() }.result.get() == ())
        #expect(text == nil)
        let work = Deferred<Int>()
        let running = lock.run { work }
        #expect(text != nil)
        running.cancel()
        #expect(try failureResult(of: work) is CancellationError)
        #expect(text == nil)
    }

    @Test("C1: a cancelled wait leaves the queue, first or not, and those behind it continue")
    func cancel() throws {
        let lock = lock()
        let held = try self.lock().tryAcquire()
        let (looking, inLine, staying) = (lock.acquire(), lock.acquire(), lock.acquire())
        looking.cancel()
        inLine.cancel()
        #expect(try failureResult(of: looking) is CancellationError)
        #expect(try failureResult(of: inLine) is CancellationError)
        held.release()
        clock.advance(by: .seconds(1))
        try successResult(of: staying).release()
        #expect(clock.scheduled.isEmpty)
    }

    @Test("a permit that is deallocated releases the lock")
    func permitGoes() throws {
        do { _ = try lock().tryAcquire() }
        #expect(text == nil)
        try lock().tryAcquire().release()
    }

    @Test("what cannot be a lock is refused at once, and left as it is")
    func unusable() throws {
        func refusal(_ path: String) throws -> String {
            let refused = DeferredFilesystemLock(path: path, timer: clock).acquire()
            return "\(try failureResult(of: refused, as: DeferredFilesystemLock.Failure.self))"
        }
        let missing = folder.appendingPathComponent("no/lock").path
        #expect(try refusal(missing) == "\(missing) cannot be used as a lock: No such file or directory")
        #expect(try refusal(folder.path).hasSuffix("Is a directory"))
        #expect(try refusal("a\0b").hasSuffix("the path has a NUL character in it"))
        try "my diary".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try refusal(path).hasSuffix("it exists and is not a lock file"))
        #expect(text == "my diary")
    }

    @Test("a lock of another process is respected; that of a process that died is acquired")
    func processes() async throws {
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/bin/sh")
        // Locks the file through descriptor 9 while it runs, and writes its process number.
        other.arguments = [
            "-c", "exec 9<>\"$0\"; flock -n 9 && echo $$ >\"$0\" && echo ready; read line", path,
        ]
        let (input, output) = (Pipe(), Pipe())
        other.standardInput = input
        other.standardOutput = output
        try other.run()
        #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "ready\n")

        let owner = other.processIdentifier
        let error = #expect(throws: DeferredFilesystemLock.Failure.self) { try self.lock().tryAcquire() }
        #expect(error == .held(path: path, owner: owner))
        let waiting = lock().acquire()
        clock.advance(by: .seconds(1))
        try expectNoResult(waiting)

        other.terminate()
        other.waitUntilExit()
        #expect(text == "\(owner)\n")
        clock.advance(by: .seconds(1))
        let permit = try successResult(of: waiting)
        #expect(permit.predecessor == owner)
        #expect(text == record)
        permit.release()
    }

    @Test("T1: of many locks of one file, on many threads, one at a time is acquired")
    func threads() async throws {
        let inside = SpinLocked((now: 0, most: 0, total: 0))
        let path = path
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let lock = DeferredFilesystemLock(path: path, lookingEvery: .microseconds(50))
                    for _ in 0..<50 {
                        _ = await lock.asyncRun { () async in
                            inside.withLock {
                                $0.now += 1; $0.most = max($0.most, $0.now); $0.total += 1
                            }
                            await Task.yield()
                            inside.withLock { $0.now -= 1 }
                        }.result
                    }
                }
            }
        }
        #expect(inside.withLock { $0.most } == 1)
        #expect(inside.withLock { $0.total } == 200)
    }

    // MARK: Files of others, which a lock never changes

    @Test("release leaves a file that somebody else put at the path")
    func foreignFile() throws {
        let permit = try lock().tryAcquire()
        try FileManager.default.removeItem(atPath: path)
        try "my diary".write(toFile: path, atomically: true, encoding: .utf8)
        permit.release()
        #expect(text == "my diary")
    }

    @Test("release leaves the lock of the next holder, where the file of the first was removed")
    func foreignLock() throws {
        let first = try lock().tryAcquire()
        try FileManager.default.removeItem(atPath: path)
        let second = try lock().tryAcquire()
        first.release()
        #expect(text != nil)
        #expect(throws: DeferredFilesystemLock.Failure.self) { try self.lock().tryAcquire() }
        second.release()
        #expect(text == nil)
    }

    @Test("release removes its own file where the folder was moved meanwhile, and none in another's place")
    func movedFolder() throws {
        let permit = try lock().tryAcquire()
        let moved = folder.appendingPathExtension("moved")
        defer { try? FileManager.default.removeItem(at: moved) }
        try FileManager.default.moveItem(at: folder, to: moved)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try "my diary".write(toFile: path, atomically: true, encoding: .utf8)
        permit.release()
        #expect(text == "my diary")
        #expect(text(moved.appendingPathComponent("lock").path) == nil)
    }

    @Test("a relative path is resolved when the lock is created")
    func relativePath() {
        let lock = DeferredFilesystemLock(path: "some.lock", timer: clock)
        #expect(lock.path == FileManager.default.currentDirectoryPath + "/some.lock")
        #expect(DeferredFilesystemLock(path: path, timer: clock).path == path)
    }

    @Test("a symbolic link at the path is refused, and nothing is created or written where it leads")
    func symbolicLinks() throws {
        let target = folder.appendingPathComponent("target").path
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        let dangling = #expect(throws: DeferredFilesystemLock.Failure.self) { try self.lock().tryAcquire() }
        #expect(dangling?.description == "\(path) cannot be used as a lock: it is a symbolic link")
        #expect(text(target) == nil)
        for content in ["", "4711\n"] {
            try content.write(toFile: target, atomically: true, encoding: .utf8)
            #expect(throws: DeferredFilesystemLock.Failure.self) { try self.lock().tryAcquire() }
            #expect(text(target) == content)
        }
        // The owner in the failure of a timeout is not read through a link, either.
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
    }

    @Test("a pipe at the path is refused at once, and left as it is")
    func pipe() throws {
        #expect(mkfifo(path, 0o600) == 0)
        let refusal = #expect(throws: DeferredFilesystemLock.Failure.self) { try self.lock().tryAcquire() }
        #expect(refusal?.description == "\(path) cannot be used as a lock: it is not a regular file")
        #expect(FileManager.default.fileExists(atPath: path))
    }
}
