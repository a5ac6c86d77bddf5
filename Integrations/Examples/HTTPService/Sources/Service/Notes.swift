import Deferred
import GRDB
import Logging

/// Notes in a database. Each that is added is counted by a worker, after its request has been answered.
struct Notes: Sendable {
    /// Counts what is in this queue, and ends when that is finished and empty.
    let counting: Deferred<Void>
    let added = DeferredQueue<String>(size: 1000)
    private let database: DeferredDatabase

    init(in path: String, logger: Logger) throws {
        let database = DeferredDatabase(try DatabaseQueue(path: path))
        try database.writer.write {
            try $0.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS note (text TEXT NOT NULL);
                    CREATE TABLE IF NOT EXISTS word (count INTEGER NOT NULL);
                    """)
        }
        self.database = database
        counting = added.run { text in
            let count = text.split(separator: " ").count
            return database.write { try $0.execute(sql: "INSERT INTO word VALUES (?)", arguments: [count]) }
                .always { _ in logger.info("counted \(count) words") }
                .fail { logger.error("not counted: \($0)") }
        }
    }

    func add(_ text: String) -> Deferred<Void> {
        database.write { try $0.execute(sql: "INSERT INTO note VALUES (?)", arguments: [text]) }
            .done { [added] in try added.put(text) }
    }

    func all() -> Deferred<[String]> {
        database.read { try String.fetchAll($0, sql: "SELECT text FROM note ORDER BY rowid") }
    }

    func wordCount() -> Deferred<Int> {
        database.read { try Int.fetchOne($0, sql: "SELECT sum(count) FROM word") ?? 0 }
    }
}
