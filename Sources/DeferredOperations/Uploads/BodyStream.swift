internal import Foundation

/// A body of a known length, as a stream: fails where its source has fewer or more bytes than announced, before the
/// last of them is sent (O11).
///
/// It is also how files are sent: an upload task of swift-corelibs-foundation that reads a file ends the process if the
/// task ends while the file is being read (O12).
final class BodyStream: InputStream {
    /// Where the bytes come from.
    enum Source {
        /// The first so many bytes of a file; what is added to it meanwhile is not sent.
        case file(UploadFile)
        case stream(InputStream)
    }

    let source: Source
    let byteCount: Int64
    private(set) var position: Int64 = 0
    private var status = Stream.Status.notOpen
    /// Why the body cannot be sent, in words.
    private(set) var fault: String?

    init(_ source: Source, byteCount: Int64) {
        (self.source, self.byteCount) = (source, byteCount)
        super.init(data: Data())
    }

    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { nil }
    /// True until the end has been read: swift-corelibs-foundation takes false for the end, also after an error.
    override var hasBytesAvailable: Bool { [.open, .error].contains(status) }

    override func open() {
        guard status == .notOpen else { return }
        status = .open
        guard case .stream(let stream) = source else { return }
        stream.open()
        if stream.streamStatus == .error { fail(stream.faultInWords) }
    }

    override func close() {
        if case .stream(let stream) = source { stream.close() }
        if status != .error { status = .closed }
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        guard status == .open else { return status == .error ? -1 : 0 }
        let count = readSource(into: buffer, Int(min(Int64(maxLength), byteCount - position)))
        guard count >= 0 else { return -1 }
        position += Int64(count)
        if count == 0, position < byteCount {
            return fail("it has ended after \(position) of \(byteCount) bytes")
        }
        if position == byteCount {
            if let fault = faultAtEnd() { return fail(fault) }
            if count == 0 { status = .atEnd }
        }
        return count
    }

    /// Reads at most `limit` bytes: 0 at the end, a negative number if it fails.
    private func readSource(into buffer: UnsafeMutablePointer<UInt8>, _ limit: Int) -> Int {
        guard limit > 0 else { return 0 }
        switch source {
        case .file(let file):
            let count = file.read(at: position, into: buffer, limit)
            return count < 0 ? fail(FileSystem.lastFault) : count
        case .stream(let stream):
            let count = stream.read(buffer, maxLength: limit)
            return count < 0 || stream.streamStatus == .error ? fail(stream.faultInWords) : count
        }
    }

    /// Why the source is not at its end, in words, after as many bytes as announced. One that has nothing more to read
    /// now may be a pipe, which is not waited for.
    private func faultAtEnd() -> String? {
        guard case .stream(let stream) = source, stream.hasBytesAvailable else { return nil }
        var byte: UInt8 = 0
        let count = stream.read(&byte, maxLength: 1)
        if count < 0 || stream.streamStatus == .error { return stream.faultInWords }
        return count > 0 ? "it has more than \(byteCount) bytes" : nil
    }

    @discardableResult
    private func fail(_ words: String) -> Int {
        fault = words
        status = .error
        return -1
    }
}
