/// The values of several Deferreds of different types, when all are there; or the first error as it is.
///
/// ```swift
/// gather(profile, friends).then { profile, friends in show(profile, friends) }
/// ```
///
/// One consumer of each distinct input: cancelling it cancels the inputs still pending, as far as nobody else
/// consumes them. An error that arrives after the first is reported unless somebody else handles it. Fires at
/// once with `()` for no input.
public func gather<each T: Sendable>(
    _ deferreds: repeat Deferred<each T>, fileID: StaticString = #fileID, line: UInt = #line
) -> Deferred<(repeat each T)> {
    var inputs: [Link] = []
    repeat inputs.append((each deferreds).link)
    let site = DeferredDiagnostic.Location(.list, fileID, line)
    let list = ListState(
        .untilFailure, count: inputs.count, consumesErrors: false, cancelsRemaining: false, site
    ) {
        inputs, _ in
        var next = inputs.makeIterator()
        return .value((repeat take(&next, (each T).self)))
    }
    return Deferred<(repeat each T)>(list.start(inputs, site))
}

private func take<T: Sendable>(_ inputs: inout IndexingIterator<[Link]>, _: T.Type) -> T {
    guard let input = inputs.next() else { preconditionFailure("gather has as many outcomes as inputs") }
    return input.content.value()
}
