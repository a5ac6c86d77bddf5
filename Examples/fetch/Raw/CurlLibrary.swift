#if canImport(FoundationNetworking)
import Foundation

/// The functions of libcurl that Foundation on Linux has loaded, for ``CurlTransport``.
///
/// Foundation asks libcurl to unpack every answer that is marked as compressed, and has no way to be told not to. The
/// library underneath is in the process, and so are Foundation's forms of `curl_easy_setopt` with a fixed number of
/// arguments, which Swift can call. A program that is linked statically has none of those names.
struct CurlLibrary: Sendable {
    typealias Handle = UnsafeMutableRawPointer
    typealias List = UnsafeMutableRawPointer

    let setPointer: @convention(c) (Handle, CInt, UnsafeMutableRawPointer?) -> CInt
    let setLong: @convention(c) (Handle, CInt, CLong) -> CInt
    let make: @convention(c) () -> Handle?
    let reset: @convention(c) (Handle) -> Void
    let perform: @convention(c) (Handle) -> CInt
    let append: @convention(c) (List?, UnsafePointer<CChar>) -> List?
    let free: @convention(c) (List?) -> Void
    let describe: @convention(c) (CInt) -> UnsafePointer<CChar>?

    /// Nil if a function is missing.
    static let loaded = CurlLibrary()

    private init?() {
        guard let setPointer = dlsym(nil, "CFURLSession_easy_setopt_ptr"),
            let setLong = dlsym(nil, "CFURLSession_easy_setopt_long"),
            let make = dlsym(nil, "curl_easy_init"), let reset = dlsym(nil, "curl_easy_reset"),
            let perform = dlsym(nil, "curl_easy_perform"), let append = dlsym(nil, "curl_slist_append"),
            let free = dlsym(nil, "curl_slist_free_all"), let describe = dlsym(nil, "curl_easy_strerror")
        else { return nil }
        // Sound: these are the C functions of those names, whose types libcurl has kept since version 7, and those of
        // CFURLSessionInterface.h, where an option and a code are structures of one `int`, passed as that is.
        self.setPointer = unsafeBitCast(setPointer, to: type(of: self.setPointer))
        self.setLong = unsafeBitCast(setLong, to: type(of: self.setLong))
        self.make = unsafeBitCast(make, to: type(of: self.make))
        self.reset = unsafeBitCast(reset, to: type(of: self.reset))
        self.perform = unsafeBitCast(perform, to: type(of: self.perform))
        self.append = unsafeBitCast(append, to: type(of: self.append))
        self.free = unsafeBitCast(free, to: type(of: self.free))
        self.describe = unsafeBitCast(describe, to: type(of: self.describe))
    }
}

/// The options of `curl_easy_setopt` that are set here, by the numbers of `curl.h`.
enum CurlOption {
    static let writeData: CInt = 10001
    static let url: CInt = 10002
    static let errorBuffer: CInt = 10010
    static let headers: CInt = 10023
    static let headerData: CInt = 10029
    static let method: CInt = 10036
    static let progressData: CInt = 10057
    static let writeFunction: CInt = 20011
    static let headerFunction: CInt = 20079
    static let progressFunction: CInt = 20219
    static let withoutProgress: CInt = 43
    static let withoutBody: CInt = 44
    static let withoutSignals: CInt = 99
    static let protocols: CInt = 181
    static let withoutConnectHeaders: CInt = 265
}
#endif
