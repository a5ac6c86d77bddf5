import Deferred
import DeferredOperations
import Foundation

private struct Connection: Sendable {
    func ask(_ question: String, _ answer: (String) -> Void) {}
    func close() {}
}

private let (connection, queue, file) = (Connection(), OperationQueue(), URL(filePath: "/"))
private let (address, addresses, request) = (file, [file], URLRequest(url: file))
