import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// Downloads whose length and content are checked before they are moved into place.
@Suite(.timeLimit(.minutes(5)))
struct VerificationTests {
    let fixture = TransferFixture()

    private func download(
        _ answer: Answer, to name: String = "it", resumes: Bool = false, createsFolders: Bool = false,
        expectedByteCount: Int64? = nil, options: TransferOptions = .patient,
        verify: (@Sendable (URL) throws -> Void)? = nil
    ) -> Deferred<DownloadDataSource.File> {
        fixture.download(
            answer, to: name,
            .init(
                resumes: resumes, createsFolders: createsFolders, expectedByteCount: expectedByteCount,
                verify: verify), transfer: options)
    }

    /// Stands for a user's hash: the sum of all bytes.
    private static func checkSum(_ file: URL, is expected: String) throws {
        let sum = (FileManager.default.contents(atPath: file.path) ?? Data()).reduce(0) { $0 + Int($1) }
        guard "\(sum)" == expected else {
            throw DataSourceError.checksumMismatch(file, expected: expected, actual: "\(sum)")
        }
    }

    @Test("O5: a finished part file is verified before it is moved into place")
    func verified() async throws {
        let destination = fixture.file("it")
        let seen = Observations<Bool>()
        let file = try await download(.pattern(100)) { part in
            seen.note(FileManager.default.fileExists(atPath: destination.path))
            try Self.checkSum(part, is: "4950")
        }.value
        #expect(file.byteCount == 100 && seen.all == [false] && fixture.names == ["it"])
    }

    @Test("O5: a wrong checksum leaves nothing, and the error has both sums", arguments: [false, true])
    func mismatch(_ resumes: Bool) async throws {
        let answer = Answer.resource(100, etag: "\"a\"")
        await expectFailure(nil, "the checksum is 4950, where 1 was expected") {
            try await download(answer, resumes: resumes) { try Self.checkSum($0, is: "1") }.value
        }
        #expect(fixture.names.isEmpty)
        struct Mine: Error {}
        await #expect(throws: Mine.self) {
            try await download(answer, resumes: resumes) { _ in throw Mine() }.value
        }
        #expect(fixture.names.isEmpty)
    }

    @Test("O5: a verification that changes the part file's length is an error", arguments: [true, false])
    func changed(_ isLonger: Bool) async throws {
        let error = await #expect(throws: DataSourceError.self) {
            try await download(.resource(100, etag: "\"a\""), resumes: true) { part in
                try Data(Pattern.bytes(isLonger ? 120 : 80)).write(to: part)
            }.value
        }
        #expect(
            "\(String(describing: error))".contains(
                "the part file had 100 bytes and has \(isLonger ? 120 : 80) after its verification"))
        #expect(fixture.names.isEmpty)
    }

    @Test("O5: a resumed download is verified as a whole, and removed if it is wrong")
    func resumed() async throws {
        await #expect(throws: DataSourceError.self) {
            try await download(.resource(1000, etag: "\"a\"", breakingOffAfter: 400), resumes: true).value
        }
        let lengths = Observations<Int>()
        await #expect(throws: DataSourceError.self) {
            try await download(.resource(1000, etag: "\"a\""), resumes: true) { part in
                lengths.note(FileManager.default.contents(atPath: part.path)?.count ?? 0)
                try Self.checkSum(part, is: "1")
            }.value
        }
        #expect(lengths.all == [1000] && fixture.names.isEmpty)
    }

    @Test("O2: cancelled while the file is verified, it leaves nothing, and the result is ignored")
    func cancelled() async throws {
        let (started, mayReturn) = (Observations<Void>(), DispatchSemaphore(value: 0))
        let ended = Observations<Void>()
        let request = download(.pattern(100)) { _ in
            started.note(())
            mayReturn.wait()
            ended.note(())
        }
        await started.wait(for: 1)
        request.cancel()
        #expect(throws: CancellationError.self) { try request.currentResult?.get() }
        #expect(fixture.names.isEmpty)
        mayReturn.signal()
        await ended.wait(for: 1)
        #expect(fixture.names.isEmpty)
    }

    @Test("O5: a download of another length than expected is an error, announced or not")
    func unexpectedLength() async throws {
        for length in [99, 100, 101] {
            for answer in [Answer.pattern(length), .chunked([Pattern.bytes(length)])] {
                let result = await download(answer, expectedByteCount: 100).result
                if case .failure(DataSourceError.unexpectedLength(_, expected: 100, let actual)) = result {
                    #expect(actual == length)
                }
                #expect(fixture.names == (length == 100 ? ["it"] : []), "\(result)")
                try? FileManager.default.removeItem(at: fixture.file("it"))
            }
        }
    }

    @Test("O5: the folders of a destination are made where that was asked for")
    func folders() async throws {
        let file = try await download(.text("x"), to: "a/b/c/it", createsFolders: true).value
        #expect(FileManager.default.contents(atPath: file.url.path)?.text == "x")
        try Data().write(to: fixture.file("file"))
        await expectFailure("cannotWrite") {
            try await download(.text("x"), to: "file/it", createsFolders: true).value
        }
    }
}
