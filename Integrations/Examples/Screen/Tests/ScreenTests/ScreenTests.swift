import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import Testing

@testable import Screen

@Suite struct SearchTests {
    private let clock = ManualClock()
    private let requests = Requests()
    private let model: SearchModel

    init() { model = SearchModel(server: requests.server, timer: clock) }

    @Test func searchesAfterAPause() async {
        for text in ["a", "al", "alien"] { model.text = text }
        #expect(requests.texts.isEmpty && model.isLoading)
        clock.advance(by: .milliseconds(300))
        await drainMainActor()
        #expect(requests.texts == ["alien 0"])
        requests.page(0).resolve(Page(films: [alien], next: 1))
        await drainMainActor()
        #expect(model.films == [alien] && !model.isLoading)
    }

    @Test func loadsTheNextPageOnce() async {
        await show(Page(films: [alien], next: 1))
        model.didReachEnd()
        model.didReachEnd()
        #expect(requests.texts == ["film 0", "film 1"])
        requests.page(1).resolve(Page(films: [brazil], next: nil))
        await drainMainActor()
        model.didReachEnd()
        #expect(model.films == [alien, brazil] && requests.texts.count == 2)
    }

    @Test func dropsWhatIsOutOfDate() async {
        await show(Page(films: [alien], next: 1))
        model.didReachEnd()
        requests.page(1).resolve(Page(films: [brazil], next: nil))  // on its way to the main actor
        model.text = "other"
        await drainMainActor()
        #expect(model.films.isEmpty && model.isLoading)
        model.text = ""
        #expect(!model.isLoading)
    }

    @Test func triesThreeTimesAndAgainWhenAsked() async {
        model.text = "film"
        clock.advance(by: .milliseconds(300))
        await drainMainActor()
        requests.page(0).reject(Requests.Busy())
        clock.advance(by: .seconds(1))
        clock.advance(by: .seconds(5))  // The second attempt is not answered in time.
        clock.advance(by: .seconds(2))
        requests.page(2).reject(Requests.Busy())
        await drainMainActor()
        #expect(model.message == "Busy()" && !model.isLoading && requests.texts.count == 3)
        #expect(requests.page(1).isCancelled)
        model.retry()
        requests.page(3).resolve(Page(films: [alien], next: nil))
        await drainMainActor()
        #expect(model.films == [alien] && model.message == nil)
    }

    private func show(_ page: Page) async {
        model.text = "film"
        clock.advance(by: .milliseconds(300))
        await drainMainActor()
        requests.page(0).resolve(page)
        await drainMainActor()
    }
}

@Suite struct CellTests {
    private let requests = Requests()

    @Test func aReusedCellShowsItsOwnFilm() async {
        let (pictures, cell) = (Pictures(server: requests.server), FilmCell())
        cell.show(alien, pictures: pictures)
        cell.show(brazil, pictures: pictures)
        #expect(requests.picture(0).isCancelled)
        requests.picture(1).resolve("brazil.png")
        await drainMainActor()
        #expect(cell.picture == "brazil.png")
    }

    @Test func cellsShareARequestAndKeepItWhileOneWaits() async {
        let (pictures, one, two) = (Pictures(server: requests.server), FilmCell(), FilmCell())
        one.show(alien, pictures: pictures)
        two.show(alien, pictures: pictures)
        one.show(brazil, pictures: pictures)
        #expect(requests.films == [alien, brazil] && !requests.picture(0).isCancelled)
        requests.picture(0).resolve("alien.png")
        await drainMainActor()
        #expect(two.picture == "alien.png" && one.picture == nil)
        one.show(alien, pictures: pictures)
        #expect(one.picture == "alien.png", "what is there is shown at once")
    }
}

@Suite struct DownloadTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "film-\(UUID())")
    private let address = URL(string: "http://films.example/alien")!

    @Test func showsProgressAndStops() async throws {
        let (gate, model) = (Deferred<Void>(), DownloadModel(session: half(until: Deferred())))
        model.start(address, to: file)
        while model.state != .loading(0.5) { await drainMainActor() }
        model.cancel()
        while model.state != .idle { await drainMainActor() }
        #expect(!FileManager.default.fileExists(atPath: file.path))

        let whole = DownloadModel(session: half(until: gate))
        whole.start(address, to: file)
        while whole.state != .loading(0.5) { await drainMainActor() }
        gate.resolve()
        while whole.state != .done { await drainMainActor() }
        #expect(try Data(contentsOf: file) == Data("abcd".utf8))
        try FileManager.default.removeItem(at: file)
    }

    /// Sends two of four bytes, and the others when `gate` is resolved.
    private func half(until gate: Deferred<Void>) -> TransferSession {
        let answer = StubTransport.Answer([
            .head(200, ["Content-Length": "4"]), .bytes(Data("ab".utf8)), .wait(gate),
            .bytes(Data("cd".utf8)), .end,
        ])
        return TransferSession(transport: StubTransport(script: [answer]))
    }
}

@Test func twoScreensAreTold() async {
    let favourites = Favourites()
    let (badge, star) = (BadgeModel(favourites), StarModel(alien, in: favourites))
    favourites.toggle(alien)
    favourites.toggle(brazil)
    await drainMainActor()
    #expect(badge.count == 2 && star.isMarked)
    favourites.toggle(alien)
    await drainMainActor()
    #expect(badge.count == 1 && !star.isMarked)
}
