import Deferred
import DeferredTesting
import Dispatch
import Synchronization
import Testing

/// A value that only one serial queue uses.
///
/// Sound as `@unchecked Sendable`: `value` comes from one place (`sending`), and only closures on `queue`,
/// which run one at a time, receive it.
struct Confined<Value>: @unchecked Sendable {
    private let value: Value
    private let queue: DispatchQueue

    init(_ value: sending Value, to queue: DispatchQueue) {
        self.value = value
        self.queue = queue
    }

    func use<Result: Sendable>(
        _ body: @escaping @Sendable (Value) throws -> Result
    ) -> Deferred<Result> {
        Deferred.resolved().map(on: queue) { try body(value) }
    }
}

/// A value that one consumer takes.
final class Parcel<Contents>: Sendable {
    private let contents: Mutex<Contents?>

    init(_ contents: consuming sending Contents) { self.contents = Mutex(contents) }

    func open() -> sending Contents? {
        contents.withLock { contents in
            let taken = contents
            contents = nil
            return taken
        }
    }
}

/// A picture. It is never changed once it is drawn.
private final class Bitmap {
    let pixels: [UInt8]
    init(pixels: [UInt8]) { self.pixels = pixels }
}

@Suite struct NonSendableValuesTests {
    private final class Parser {
        private(set) var lines: [String] = []
        func parse(_ text: String) -> Int {
            lines.append(text)
            return lines.count
        }
    }

    @Test("Values that are not Sendable: send what is needed of one")
    func extract() throws {
        let text = Deferred.resolved("a line")
        let count = text.map { text in
            let parser = Parser()  // lives and dies in this closure
            return parser.parse(text)
        }
        #expect(try successResult(of: count) == 1)
    }

    @Test("Values that are not Sendable: one queue uses the value")
    func confined() async throws {
        let text = Deferred.resolved("a line")
        let parser = Confined(Parser(), to: DispatchQueue(label: "parser"))
        let count = text.then { text in parser.use { $0.parse(text) } }
        #expect(try await count.value == 1)
        #expect(try await text.then { text in parser.use { $0.parse(text) } }.value == 2)
    }

    private func makeParser() -> Deferred<Parcel<Parser>> {
        Deferred { resolver in
            DispatchQueue.global().async {
                let parser = Parser()
                resolver.resolve(Parcel(parser))
            }
        }
    }

    @Test("Values that are not Sendable: one consumer takes the value")
    func parcel() async throws {
        let parsed = makeParser().map { parcel in
            guard let parser = parcel.open() else { return 0 }
            return parser.parse("a line")
        }
        #expect(try await parsed.value == 1)
        let parcel = Parcel(Parser())
        #expect(parcel.open() != nil)
        #expect(parcel.open() == nil)
    }

    @Test("Values that are not Sendable: a value that is never changed")
    func unchangeable() throws {
        // A Bitmap is immutable once it is drawn.
        struct Picture: @unchecked Sendable {
            let bitmap: Bitmap
        }
        let picture = Deferred.resolved(Picture(bitmap: Bitmap(pixels: [1, 2])))
        #expect(try successResult(of: picture.map { $0.bitmap.pixels.count }) == 2)
    }

    @Test("Values that are not Sendable: thread-safe, but not marked so")
    func unmarked() {
        struct Log: Sendable { func write(_ text: String) {} }
        // A work item may be cancelled from any thread.
        struct WorkItem: @unchecked Sendable {
            let item: DispatchWorkItem
        }
        let (log, queue, page) = (Log(), DispatchQueue(label: "warnings"), Deferred<String>())
        let warning = WorkItem(item: DispatchWorkItem { log.write("the page is late") })
        queue.asyncAfter(deadline: .now() + 60, execute: warning.item)
        page.finally { _ in warning.item.cancel() }
        page.resolve("text")
        #expect(warning.item.isCancelled)
    }

    @MainActor private final class Document {
        var text = ""
    }

    @Test("Values that are not Sendable: an object of the main actor")
    @MainActor func mainActor() async throws {
        let document = Document()
        let loaded = Deferred.resolved("text").map(on: MainActor.self) { text in
            document.text = text
            return document
        }
        #expect(try await loaded.value.text == "text")
    }
}
