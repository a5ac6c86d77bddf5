import Deferred

private let (addresses, checked) = (["/a", "/b"], [Result<Int, any Error>]())
private let (interrupted, list) = (Deferred<Void>(), DeferredList<Int>([]))
private let results = list.results()
private func check(_ address: String) -> Deferred<Int> { .never() }
