/// Waits for several Deferreds of different types, and returns a Deferred with their values; or fails with the first
/// error, unchanged.
///
/// ```swift
/// gather(profile, friends).done { profile, friends in show(profile, friends) }
/// ```
///
/// It is one consumer of each distinct input: a cancel cancels the inputs still pending, as far as nothing else
/// consumes them. Without inputs it is resolved with `()` at once. The error does not say which input failed: to make
/// that part of the error, use `mapError` on the input.
///
/// - Parameters:
///   - deferreds: The inputs.
///   - consumesErrors: Counts errors that arrive after the first one as handled. Without, they are reported unless
///     something else handles them.
///   - cancelsRemaining: Cancels the inputs still pending, as far as nothing else consumes them, once the first
///     one has failed and the callbacks of the returned Deferred have run.
public func gather<each T: Sendable>(
    _ deferreds: repeat Deferred<each T>, consumesErrors: Bool = false, cancelsRemaining: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line
) -> Deferred<(repeat each T)> {
    var inputs: [Link] = []
    repeat inputs.append((each deferreds).link)
    let site = DeferredDiagnostic.Location(.list, fileID, line)
    let list = ListObserver(
        .untilFailure, count: inputs.count, consumesErrors: consumesErrors,
        cancelsRemaining: cancelsRemaining, site
    ) {
        inputs, _ in
        var index = -1
        func next<Input: Sendable>(_: Input.Type) -> Input {
            index += 1
            return inputs[index].payload.value()
        }
        return .value((repeat next((each T).self)))
    }
    return Deferred<(repeat each T)>(list.start(inputs, site))
}
