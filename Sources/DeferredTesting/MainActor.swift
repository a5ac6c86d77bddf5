import Deferred

/// Returns when the main actor has run what the library had submitted to it, and what that submitted.
///
/// ```swift
/// @Test @MainActor func shows() async {
///     let model = PageModel(load: { .resolved("text") })
///     model.appear()                       // … .done(on: MainActor.self) { self.text = $0 }
///     await drainMainActor()
///     #expect(model.text == "text")
/// }
/// ```
///
/// That is every closure with `on: MainActor.self` whose time has come when this is called, wherever it was attached,
/// and every one whose time comes while those run: of a chain with several, all have run. What was submitted to the
/// main queue (`on: .main`) before the call has run, too. Not waited for is what is not submitted yet (a request in
/// progress, a timer, a Task: complete it first, or advance its clock), nor what code that is not the library's
/// submits.
///
/// Other tests that run at the same time use the same main actor: what they submit meanwhile is waited for. Never
/// blocks a thread.
@MainActor
public func drainMainActor() async {
    repeat {
        // Behind what is in the main queue now, which is also the main actor's.
        _ = await Deferred<Void>.resolved().map(on: .main) {}.result
    } while MainActorDispatcher.hasWork
}
