import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// Downloads whose length and content are checked before they are moved into place.
@Suite(.timeLimit(.minutes(5)))
struct VerificationTests {
    let fixture = TransferFixture()

    private let answer = Answer.resource(100, etag: "\"a\"")

    private func download(
        _ answer: Answer, resumes: Bool = false, verify: (@Sendable (URL) throws -> Void)? = nil
    ) -> Deferred<DownloadDataSource.File> {
        fixture.download(answer, .init(resumes: resumes, verify: verify))
    }

    /// Stands for a user's hash: the sum of all bytes.
    private static func checkSum(_ file: URL, is expected: String) throws {
        let sum = try Data(contentsOf: file).reduce(0) { $0 + Int($1) }
        guard "\(sum)" == expected else {
            throw DataSourceError.checksumMismatch(file, expected: expected, actual: "\(sum)")
        }
    }

    @Test("O5: a finished part file is verified before it is moved into place")
    func verified() async throws {
        let (destination, seen) = (fixture.file(), Observations<Bool>())
        let verify = { @Sendable (part: URL) in
            seen.note(FileManager.default.fileExists(atPath: destination.path))
            try Self.checkSum(part, is: "4950")
        }
        try await fixture.expectDownload(of: 100, answer, .init(verify: verify))
        #expect(seen.all == [false])
    }

    @Test("O5: a wrong checksum leaves nothing, and the error has both sums", arguments: [false, true])
    func mismatch(_ resumes: Bool) async throws {
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

    @Test("O5: a verification that changes the part file's length is an error", arguments: [80, 120])
    func changed(_ length: Int) async throws {
        await expectFailure(nil, "the part file had 100 bytes and has \(length) after its verification") {
            try await download(answer, resumes: true) { try Data(count: length).write(to: $0) }.value
        }
        #expect(fixture.names.isEmpty)
    }

    @Test("O5: a resumed download is verified as a whole, and removed if it is wrong")
    func resumed() async throws {
        await fixture.leavePart()
        let lengths = Observations<Int>()
        await expectFailure("checksumMismatch") {
            try await download(.resource(1000, etag: "\"a\""), resumes: true) { part in
                lengths.note(try Data(contentsOf: part).count)
                try Self.checkSum(part, is: "1")
            }.value
        }
        #expect(lengths.all == [1000] && fixture.names.isEmpty)
    }

    @Test("O2: cancelled while the file is verified, it leaves nothing, and the result is ignored")
    func cancelled() async throws {
        let (started, mayReturn) = (Observations<Void>(), DispatchSemaphore(value: 0))
        let ended = Observations<Void>()
        let request = download(answer) { _ in
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
        for length in [99, 101, 100] {
            for answer in [Answer.pattern(length), .chunked([Pattern.bytes(length)])] {
                let options = DownloadOptions(existing: .replace, expectedByteCount: 100)
                let result = await fixture.download(answer, options).result
                if case .failure(DataSourceError.unexpectedLength(_, expected: 100, let actual)) = result {
                    #expect(actual == length)
                }
                #expect(fixture.names == (length == 100 ? ["it"] : []), "\(result)")
            }
        }
    }
}
