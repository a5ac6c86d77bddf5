package import Foundation

extension URL {
    /// This URL as Foundation can send it.
    ///
    /// swift-corelibs-foundation does not know the scheme `HTTP`. It refuses an address that libcurl writes in another
    /// way than `URL`: so that is written as libcurl does. Of IPv6, libcurl's host has brackets and that of `URL` has
    /// none: percent-encoded, they belong to the host for both, and libcurl still recognises the address.
    var asSent: URL {
        #if canImport(FoundationNetworking)
        let address = host?.asAddress
        if ["http", "https"].contains(scheme), address == nil { return self }
        guard var components = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
        components.scheme = components.scheme?.lowercased()
        if let address {
            components.encodedHost =
                address.contains(":") ? "%5B" + address.replacing(":", with: "%3A") + "%5D" : address
        }
        return components.url ?? self
        #else
        return self
        #endif
    }
}

extension String {
    /// This host as libcurl writes it, if that is an address of IPv6, or one of IPv4 in another form: with fewer than
    /// four numbers, or with octal or hexadecimal ones. Nil for a name, for what is written so already, and for an
    /// address with a zone.
    fileprivate var asAddress: String? {
        func written(_ family: CInt, _ bytes: UnsafeRawPointer) -> String? {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
                inet_ntop(family, bytes, text.baseAddress, socklen_t(text.count)).map { String(cString: $0) }
            }
        }
        if contains(":") {
            var address = in6_addr()
            return inet_pton(AF_INET6, self, &address) == 1 ? written(AF_INET6, &address) : nil
        }
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let first = utf8.first, digits ~= first, !isPlainIPv4 else { return nil }
        var address = in_addr()
        guard inet_aton(self, &address) != 0, let text = written(AF_INET, &address) else { return nil }
        return text == self ? nil : text
    }

    /// Whether this is four decimal numbers of up to three digits, none of which could be octal. `inet_ntop` takes
    /// 5,000 instructions to say the same.
    private var isPlainIPv4: Bool {
        let numbers = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return numbers.count == 4
            && numbers.allSatisfy { number in
                1...3 ~= number.count && (number.count == 1 || number.first != UInt8(ascii: "0"))
                    && number.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            }
    }
}

extension HTTPURLResponse {
    /// This answer, known by the URL that was asked for, without its password (O9), if the transport reports another:
    /// one in a form that it can send.
    func from(_ asked: URL?) -> HTTPURLResponse {
        guard let asked = asked?.withoutUserInfo, asked.absoluteString != url?.absoluteString else {
            return self
        }
        return HTTPURLResponse(
            url: asked, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: headers) ?? self
    }
}

extension URL {
    /// This URL without user and password, as it may stand in errors and files (O9).
    package var withoutUserInfo: URL {
        let text = absoluteString
        let stripped = text.withoutUserInfo
        return stripped == text ? self : URL(string: stripped) ?? .unnamed
    }

    static let unnamed = URL(fileURLWithPath: "/")

    /// Whether it can be fetched here.
    var isHTTP: Bool { ["http", "https"].contains(scheme?.lowercased()) }
}

extension String {
    /// This address without user and password. Where those end is uncertain in anything else, such as a malformed
    /// address or a message that quotes one: what is before its last `@` is left out.
    package var withoutUserInfo: String {
        // Called several times for each transfer, and mostly there is nothing to remove: checks that first.
        if !utf8.contains(UInt8(ascii: "@")) || hasPrefix("file:") || hasPrefix("mailto:") { return self }
        // `URLComponents` would encode a space, which no address has.
        let isProper = !contains(" ") && URLComponents(string: self)?.host?.isEmpty == false
        let start = (firstRange(of: "//") ?? firstRange(of: "'"))?.upperBound ?? startIndex
        let authority = self[start...].prefix { !isProper || !"/?#".contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return self }
        return String(self[..<start] + self[index(after: at)...])
    }
}

extension URLRequest {
    /// Returns this request with a header, unless it has one of that name.
    func adding(_ value: String, for name: String) -> URLRequest {
        var request = self
        if request.value(forHTTPHeaderField: name) == nil {
            request.setValue(value, forHTTPHeaderField: name)
        }
        return request
    }

    var mayHaveBody: Bool { httpMethod != "GET" && httpMethod != "HEAD" }

    /// The address as errors name it.
    var errorURL: URL { url?.withoutUserInfo ?? .unnamed }

    /// Returns the address as errors name it, and checks what is sent in front of a body.
    ///
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)`` if the address is not of the form `http://host` or
    ///   `https://host`, or if a control character could begin another line in the method or in a header.
    @discardableResult
    func checkedAddress() throws(DataSourceError) -> URL {
        guard let asked = url else { throw .invalidRequest(nil, reason: "the request has no URL") }
        let url = asked.withoutUserInfo
        guard let scheme = asked.scheme else { throw .invalidRequest(url, reason: "the URL has no scheme") }
        guard asked.isHTTP else { throw .invalidRequest(url, reason: "\(scheme) is neither http nor https") }
        if url.host?.isEmpty != false { throw .invalidRequest(url, reason: "the URL has no host") }
        // A tab may be in a value only.
        let headers = (allHTTPHeaderFields ?? [:]).map { name, value in
            ("header \(name.debugDescription)", name + value.replacing("\t", with: " "))
        }
        for (name, text) in headers + [("method", httpMethod ?? "")]
        where text.utf8.contains(where: { $0 < 32 || $0 == 127 }) {
            throw .invalidRequest(url, reason: "the \(name) has a control character")
        }
        if let method = httpMethod, method.isEmpty || method.contains(" ") {
            throw .invalidRequest(url, reason: "\"\(method)\" is not a method")
        }
        return url
    }
}
