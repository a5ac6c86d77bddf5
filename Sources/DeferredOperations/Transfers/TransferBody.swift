internal import Foundation

/// Gives the requests of a transfer their body: a file, a form that was written to one, a stream that is made anew, or
/// the request's own.
struct TransferBody: Sendable {
    private let options: TransferOptions
    private let hasForm: Bool
    /// The form's file, opened for reading; nil if that has failed.
    private let form: UploadFile?

    /// - Parameter form: The file that the form was written to.
    init(_ options: TransferOptions, _ form: PartFile?) {
        (self.options, hasForm, self.form) = (options, form != nil, form.flatMap { UploadFile($0) })
    }

    /// Whether each request gets a body of its own. What a request has itself can be sent once.
    var canBeMadeAgain: Bool { options.makeBodyStream != nil || options.uploadFile != nil || hasForm }

    /// Returns the request with its body, and the headers that frame that. Calls a closure of the user's, and opens files.
    func added(to request: URLRequest) throws -> URLRequest {
        var request = request
        guard request.mayHaveBody else { return request }
        if hasForm, form == nil {
            throw DataSourceError.invalidRequest(request.errorURL, reason: FileSystem.lastFault)
        }
        if let make = options.makeBodyStream { request.httpBodyStream = try make() }
        let file = try form ?? options.uploadFile?.openUpload(to: request.errorURL)
        return try request.framed(file, options)
    }
}
