import Deferred
import DeferredOperations
import DeferredTesting
import Foundation

private struct User: Decodable, Sendable {
    let name: String
}

private let (queue, request) = (OperationQueue(), URLRequest(url: URL(filePath: "/")))
private let (first, second) = (Data(), Data())
