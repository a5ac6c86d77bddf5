import Deferred

private struct Missing: Error {
    init(_ name: String, _ error: any Error) {}
}

private let (first, second, third) = (Deferred<String>(), Deferred<String>(), Deferred<String>())
private let (name, age, inputs) = (first, Deferred<Int>(), [first, second, third])
private let (answer, refusal) = (first, second)
private let (addresses, list) = (["/a", "/b"], DeferredList(inputs))
private func firstThree(of inputs: [Deferred<String>]) -> Deferred<[String]> { .never() }
