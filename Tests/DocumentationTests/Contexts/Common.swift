import Deferred
import DeferredTesting
import Foundation
import Multicast

// What the examples of several pages use.

struct NotFound: Error {}

struct Log: Sendable {
    func write(_ line: String) {}
}

let log = Log()
let clock = ManualClock()
let traceFile = URL(filePath: "/")

func fetchPage() -> Deferred<String> { .never() }
func fetchPage(_ address: String) -> Deferred<String> { .never() }
func fetchPage(at address: String) -> Deferred<String> { .never() }
func fetchPage(of name: String) -> Deferred<String> { .never() }
func findPage(named name: String) -> Deferred<String> { .never() }
func show(_ text: String) {}
func show(_ data: Data) {}
func show(_ error: any Error) {}

extension String {
    func shouted() async throws -> String { uppercased() }
}
