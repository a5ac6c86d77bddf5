import Deferred
import DeferredOperations
import Foundation

private struct Parser: Sendable {
    func consume(_ piece: Data) {}
}

private struct UnexpectedType: Error {
    init(_ type: String?) {}
}

private let (parser, queue, parsing) = (Parser(), OperationQueue(), DispatchQueue(label: "parsing"))
private let (address, mirrors, expected) = (URL(filePath: "/"), [URL](), "cafe")
private let (file, photo, post, body) = (address, address, URLRequest(url: address), Data())
private func checksum(of file: URL) throws -> String { "cafe" }

extension ControllingTransfersExamples {
    var options: TransferOptions {
        get { TransferOptions() }
        set {}
    }
}
