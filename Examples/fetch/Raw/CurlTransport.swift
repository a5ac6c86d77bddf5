#if canImport(FoundationNetworking)
import DeferredOperations
import Foundation
import Synchronization

/// Carries requests without a body by libcurl itself, and leaves a coding on the body of an answer: for `--raw`, which
/// Foundation makes impossible.
///
/// Each request has a thread while it is in progress. Connections are kept for the next request.
final class CurlTransport: Transport {
    let canDeliverAsSent = true

    private let library: CurlLibrary
    /// Those of Foundation's requests, so that a request that is made again this way has the same.
    private let cookies: CookieJar?
    /// Handles without a request, each with the connections that it has kept. There is one transport in the process,
    /// as long as that runs, so that they are not closed.
    private let idle = Mutex<[IdleHandle]>([])

    /// Sound as `@unchecked Sendable`: it is taken out of the list by the one thread that uses it.
    private struct IdleHandle: @unchecked Sendable { let handle: CurlLibrary.Handle }

    private static let requestCount = Atomic(0)

    /// Whether libcurl is still working. A request that was cancelled ends within a second; a program that ends before
    /// must not have `exit` clean up what libcurl uses.
    static var isInUse: Bool { requestCount.load(ordering: .relaxed) > 0 }

    /// Whether this is possible here.
    static var isPossible: Bool { CurlLibrary.loaded != nil }

    /// Nil where libcurl cannot be called.
    init?(cookies: CookieJar?) {
        guard let library = CurlLibrary.loaded else { return nil }
        self.library = library
        self.cookies = cookies
    }

    func send(
        _ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange
    ) -> any TransportTask {
        let answer = CurlAnswer(request, exchange) { [cookies] in cookies?.keep($0, to: request) }
        let request = cookies?.adding(to: request) ?? request
        Thread.detachNewThread { [self] in perform(request, answer) }
        return answer
    }

    private func perform(_ request: URLRequest, _ answer: CurlAnswer) {
        Self.requestCount.add(1, ordering: .relaxed)
        defer { Self.requestCount.subtract(1, ordering: .relaxed) }
        // The first handle initialises the library, which older versions do not allow on two threads.
        let idleHandle = idle.withLock { $0.popLast() ?? library.make().map(IdleHandle.init) }
        guard let handle = idleHandle?.handle else { return answer.end(2, "libcurl has no memory") }
        var headers: CurlLibrary.List?
        for (name, value) in request.allHTTPHeaderFields ?? [:] {
            // libcurl leaves out a header without a value, and sends an empty one for a semicolon.
            let isRemoved = value == URLRequest.removedHeader
            headers = library.append(
                headers, isRemoved ? "\(name):" : value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        if request.value(forHTTPHeaderField: "User-Agent") == nil {
            headers = library.append(headers, "User-Agent: fetch")
        }
        var text = [CChar](repeating: 0, count: 256)
        let code = text.withUnsafeMutableBufferPointer { text in
            set(request, headers, text.baseAddress, answer, of: handle)
            return library.perform(handle)
        }
        library.free(headers)
        library.reset(handle)
        idle.withLock { $0.append(IdleHandle(handle: handle)) }
        let words = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        answer.end(code, words.isEmpty ? library.describe(code).map { String(cString: $0) } ?? "" : words)
    }

    /// Sets what the request needs. libcurl copies texts; the list, the buffer and the answer outlive the request.
    private func set(
        _ request: URLRequest, _ headers: CurlLibrary.List?, _ text: UnsafeMutablePointer<CChar>?,
        _ answer: CurlAnswer, of handle: CurlLibrary.Handle
    ) {
        // Sound: `answer` is retained by the thread until `curl_easy_perform` has returned, which makes all the calls.
        let data = Unmanaged.passUnretained(answer).toOpaque()
        let isHead = request.httpMethod == "HEAD"
        for (option, value) in [
            (CurlOption.withoutSignals, 1), (CurlOption.withoutProgress, 0), (CurlOption.protocols, 3),
            (CurlOption.withoutConnectHeaders, 1), (CurlOption.withoutBody, isHead ? 1 : 0),
        ] { _ = library.setLong(handle, option, value) }
        setText(request.url?.absoluteString ?? "", CurlOption.url, of: handle)
        if !isHead, let method = request.httpMethod, method != "GET" {
            setText(method, CurlOption.method, of: handle)
        }
        _ = library.setPointer(handle, CurlOption.headers, headers)
        _ = library.setPointer(handle, CurlOption.errorBuffer, text)
        for option in [CurlOption.writeData, CurlOption.headerData, CurlOption.progressData] {
            _ = library.setPointer(handle, option, data)
        }
        let receive: CurlAnswer.Receiving = { bytes, size, count, data in
            CurlAnswer.of(data).receive(bytes, size * count)
        }
        let receiveHeader: CurlAnswer.Receiving = { bytes, size, count, data in
            CurlAnswer.of(data).receiveHeader(bytes, size * count)
        }
        let isEnded: CurlAnswer.Watching = { data, _, _, _, _ in CurlAnswer.of(data).isCancelled ? 1 : 0 }
        // Sound: a C function and a pointer have the same form, and libcurl calls each by the type that it has here.
        for (option, function) in [
            (CurlOption.writeFunction, unsafeBitCast(receive, to: UnsafeMutableRawPointer.self)),
            (CurlOption.headerFunction, unsafeBitCast(receiveHeader, to: UnsafeMutableRawPointer.self)),
            (CurlOption.progressFunction, unsafeBitCast(isEnded, to: UnsafeMutableRawPointer.self)),
        ] { _ = library.setPointer(handle, option, function) }
    }

    private func setText(_ text: String, _ option: CInt, of handle: CurlLibrary.Handle) {
        text.withCString { _ = library.setPointer(handle, option, UnsafeMutableRawPointer(mutating: $0)) }
    }
}

/// Makes the events of an exchange from what libcurl calls, on the thread of the request.
///
/// Sound as `@unchecked Sendable`: `exchange` is accessed under its lock; the rest by the thread of the request alone.
final class CurlAnswer: TransportTask, @unchecked Sendable {
    typealias Receiving = @convention(c) (UnsafePointer<UInt8>?, Int, Int, UnsafeMutableRawPointer?) -> Int
    typealias Watching =
        @convention(c) (UnsafeMutableRawPointer?, Int64, Int64, Int64, Int64) -> CInt

    private let url: URL?
    /// Called with the head, before that is reported.
    private let onHead: @Sendable (HTTPURLResponse) -> Void
    /// Nil after the end, and after a cancel.
    private let exchange: Mutex<TransportExchange?>
    private var status = 0
    private var headers: [(name: String, value: String)] = []
    private var hasHead = false

    init(
        _ request: URLRequest, _ exchange: TransportExchange,
        onHead: @escaping @Sendable (HTTPURLResponse) -> Void
    ) {
        url = request.url
        self.onHead = onHead
        self.exchange = Mutex(exchange)
    }

    static func of(_ data: UnsafeMutableRawPointer?) -> CurlAnswer {
        // Sound: `data` is what `CurlTransport.set` has passed, for a request that is in progress.
        Unmanaged<CurlAnswer>.fromOpaque(data!).takeUnretainedValue()
    }

    var isCancelled: Bool { exchange.withLock { $0 }?.isCancelled ?? true }

    func cancel() { _ = takeExchange() }

    /// Returns the exchange, which is released without the lock.
    private func takeExchange() -> TransportExchange? {
        exchange.withLock { exchange in
            defer { exchange = nil }
            return exchange
        }
    }

    /// Takes a piece of the body. A number that is not that of the bytes ends the request.
    fileprivate func receive(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
        guard let exchange = exchange.withLock({ $0 }), !exchange.isCancelled else { return 0 }
        if let bytes, count > 0 { exchange.receive(.bytes(Data(bytes: bytes, count: count))) }
        return count
    }

    /// Takes a line of a head, or of what follows a body in chunks, which is ignored.
    fileprivate func receiveHeader(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
        let bytes = Array(UnsafeBufferPointer(start: bytes, count: count))
        // A header may be in Latin-1.
        let text =
            String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        let line = text.trimmingCharacters(in: .newlines)
        let isBegun = status != 0
        if !isBegun, line.hasPrefix("HTTP/") {
            status = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        } else if hasHead || !isBegun {
            return count
        } else if line.isEmpty {
            endHead()
        } else if line.first?.isWhitespace == true, let last = headers.indices.last {
            headers[last].value += " " + line.trimmingCharacters(in: .whitespaces)
        } else if let colon = line.firstIndex(of: ":") {
            headers.append(
                (
                    String(line[..<colon]).trimmingCharacters(in: .whitespaces),
                    line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                ))
        }
        return count
    }

    private func endHead() {
        var fields: [String: String] = [:]
        /// Each name as it came first.
        var names: [String: String] = [:]
        for (name, value) in headers {
            let key = name.lowercased()
            let known = names[key] ?? name
            names[key] = known
            fields[known] = fields[known].map { "\($0), \(value)" } ?? value
        }
        let response = url.flatMap {
            HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        }
        // After an informational answer, another follows.
        hasHead = status >= 200
        (status, headers) = (hasHead ? status : 0, [])
        guard let response else { return }
        if hasHead { onHead(response) }
        exchange.withLock { $0 }?.receive(.head(response))
    }

    fileprivate func end(_ code: CInt, _ text: String) {
        takeExchange()?.receive(.end(code == 0 ? nil : Self.error(code, text)))
    }

    private static func error(_ code: CInt, _ text: String) -> URLError {
        let kind: URLError.Code =
            switch code {
            case 3: .badURL
            case 5, 6: .cannotFindHost
            case 7: .cannotConnectToHost
            case 35, 53, 54, 58, 59, 60, 66, 77, 83, 90, 91: .secureConnectionFailed
            case 8, 52: .badServerResponse
            default: .unknown
            }
        return URLError(kind, userInfo: [NSLocalizedDescriptionKey: text])
    }
}
#endif
