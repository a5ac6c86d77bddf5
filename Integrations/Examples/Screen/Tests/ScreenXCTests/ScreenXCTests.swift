import Deferred
import DeferredTesting
import XCTest

@testable import Screen

/// The same with XCTest: a class that is isolated to the main actor, and methods that are `async`.
@MainActor
final class SearchXCTests: XCTestCase {
    func testShowsWhatWasFound() async {
        let (clock, found) = (ManualClock(), Film(id: 1, title: "Alien"))
        let model = SearchModel(
            server: Server { _, _ in
                .resolved(Page(films: [found], next: nil))
            } picture: { _ in
                .never()
            }, timer: clock)
        model.text = "alien"
        clock.advance(by: .milliseconds(300))
        await drainMainActor()
        XCTAssertEqual(model.films, [found])
        XCTAssertFalse(model.isLoading)
    }

    func testShowsWhyNothingWasFound() async {
        struct Offline: Error {}
        let clock = ManualClock()
        let model = SearchModel(
            server: Server { _, _ in
                .rejected(Offline())
            } picture: { _ in
                .never()
            }, timer: clock)
        model.text = "alien"
        while model.message == nil {
            clock.advance(by: .seconds(1))
            await drainMainActor()
        }
        XCTAssertEqual(model.message, "Offline()")
        XCTAssertEqual(model.films, [])
    }
}
