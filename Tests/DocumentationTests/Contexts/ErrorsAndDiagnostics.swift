import Deferred
import Foundation

private let (page, cover, traceFile) = (Deferred<String>(), Deferred<String>(), URL(filePath: "/"))
private func readFile(_ name: String, _ completion: @Sendable (String?) -> Void) {}
