import Deferred

private let (page, cover) = (Deferred<String>(), Deferred<String>())
private func readFile(_ name: String, _ completion: @Sendable (String?) -> Void) {}
