import Deferred
import Foundation
import GRDB
import GRDBBridge
import Synchronization
import Testing

@Suite final class GRDBBridgeTests: Sendable {
    private struct Failed: Error {}

    private let folder: URL
    private let database: DeferredDatabase

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "GRDBBridge-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        database = DeferredDatabase(try DatabasePool(path: folder.appending(path: "notes.sqlite").path))
        try database.writer.write { try $0.execute(sql: "CREATE TABLE note (text TEXT NOT NULL)") }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func texts() -> Deferred<[String]> {
        database.read { try String.fetchAll($0, sql: "SELECT text FROM note ORDER BY rowid") }
    }

    private func add(_ text: String) -> Deferred<Void> {
        database.write { try $0.execute(sql: "INSERT INTO note VALUES (?)", arguments: [text]) }
    }

    /// Counts for ever, unless it is interrupted.
    private static let endless =
        "WITH RECURSIVE counter(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter) SELECT count(*) FROM counter"

    @Test("GRDB: what was written is read")
    func readsAndWrites() async throws {
        let found = add("one").then { self.add("two") }.then { self.texts() }
        #expect(try await found.value == ["one", "two"])
    }

    @Test("GRDB: writes are made in the order of the calls")
    func order() async throws {
        let writes = (0..<200).map { add("\($0)") }
        _ = try await DeferredList(writes).values().value
        #expect(try await texts().value == (0..<200).map { "\($0)" })
    }

    @Test("GRDB: an error rolls back, and is the Deferred's")
    func rollsBack() async throws {
        let failed = database.write { database -> Void in
            try database.execute(sql: "INSERT INTO note VALUES ('never')")
            throw Failed()
        }
        await #expect(throws: Failed.self) { try await failed.value }
        let refused = database.write { try $0.execute(sql: "INSERT INTO note VALUES (NULL)") }
        await #expect(throws: DatabaseError.self) { try await refused.value }
        #expect(try await texts().value == [])
    }

    @Test("GRDB: a cancel interrupts the statement of a read that is running", .timeLimit(.minutes(2)))
    func interruptsRead() async throws {
        let (begun, ended) = (Deferred<Void>(), Deferred<any Error>())
        let read = database.read { database in
            begun.resolve()
            do { return try Int.fetchOne(database, sql: Self.endless) } catch {
                ended.resolve(error)
                throw error
            }
        }
        try await begun.value
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        #expect(try await ended.value is CancellationError)
    }

    @Test("GRDB: a cancelled write is rolled back, and the next one is made", .timeLimit(.minutes(2)))
    func interruptsWrite() async throws {
        let begun = Deferred<Void>()
        let write = database.write { database in
            try database.execute(sql: "INSERT INTO note VALUES ('never')")
            begun.resolve()
            try database.execute(sql: Self.endless)
        }
        let next = add("next")
        try await begun.value
        write.cancel()
        try await next.value
        #expect(try await texts().value == ["next"])
    }

    @Test("GRDB: a cancelled write that waits is never begun", .timeLimit(.minutes(2)))
    func waiting() async throws {
        let gate = Deferred<Void>()
        let begun = Deferred<Void>()
        let first = database.write { _ in
            begun.resolve()
            try gate.wait()
        }
        try await begun.value
        let isMade = Atomic(false)
        let second = database.write { _ in isMade.store(true, ordering: .relaxed) }
        second.cancel()
        let third = add("third")
        gate.resolve()
        _ = try await gather(first, third).value
        let wasMade = isMade.load(ordering: .relaxed)
        #expect(!wasMade)
        #expect(try await texts().value == ["third"])
    }
}
