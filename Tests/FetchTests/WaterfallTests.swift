import Foundation
import Testing

@testable import fetch

#if canImport(FoundationXML)
import FoundationXML
#endif

struct WaterfallTests {
    private func timeline(_ count: Int) -> Timeline {
        var timeline = Timeline()
        for index in 0..<count {
            let start = Duration.milliseconds(index * 10)
            timeline.add(name: "file <\(index)> & \"co\".bin", url: "http://h/\(index)?a=b&c=d")
            timeline.enter(.asking, index, at: start)
            if index % 5 == 4 { timeline.enter(.pausing, index, at: start + .milliseconds(20)) }
            timeline.enter(.receiving, index, at: start + .milliseconds(50))
            timeline.end(
                index, [.fetched, .failed, .cancelled, .skipped][index % 4], note: "note \(index)",
                at: start + .milliseconds(90))
        }
        return timeline
    }

    @Test("The spans of a row have no gaps, and events after its end change nothing")
    func spans() {
        var timeline = timeline(5)
        #expect(timeline.rows[4].spans.map(\.phase) == [.waiting, .asking, .pausing, .receiving])
        for row in timeline.rows {
            #expect(row.spans.first?.start == .zero)
            for (span, next) in zip(row.spans, row.spans.dropFirst()) { #expect(span.end == next.start) }
        }
        timeline.enter(.asking, 0, at: .seconds(9))
        timeline.end(0, .failed, note: "late", at: .seconds(9))
        #expect(timeline.rows[0].note == "note 0")
        #expect(timeline.duration == .milliseconds(130))
    }

    @Test("The picture is well-formed and within its own bounds", arguments: [0, 1, 5, 500, 5000])
    func picture(count: Int) throws {
        let svg = WaterfallPicture(timeline: timeline(count), title: "\(count) URLs <&>").svg
        let reader = SVGReader(svg)
        #expect(reader.isWellFormed)
        #expect(reader.titles == count)
        let size = try #require(reader.size)
        for rectangle in reader.rectangles {
            #expect(rectangle.minX >= 0 && rectangle.minY >= 0, "\(rectangle)")
            #expect(rectangle.maxX <= size.width && rectangle.maxY <= size.height, "\(rectangle)")
        }
        // The times are in sight on every screen.
        let places = [0] + Set(reader.times).sorted() + [size.height]
        for (place, next) in zip(places, places.dropFirst()) { #expect(next - place <= 760) }
        #expect(svg.contains("prefers-color-scheme: dark"))
    }

    @Test("The ticks of the axis are at round times, few, and in a suitable unit")
    func axis() {
        for seconds in [0.0, 0.0004, 0.013, 0.9, 1, 3.3, 59, 61, 700, 86_000, 1e7] {
            let axis = TimeAxis(seconds: seconds, steps: 8)
            #expect((2...200).contains(axis.ticks.count), "\(seconds)")
            #expect(axis.ticks.last ?? 0 <= max(seconds, 0.001) + 1e-9)
            #expect(
                Set(axis.ticks.map(axis.label)).count == axis.ticks.count, "\(axis.ticks.map(axis.label))")
        }
        #expect(
            TimeAxis(seconds: 1.6, steps: 8).ticks.map(TimeAxis(seconds: 1.6, steps: 8).label)[1] == "0.2 s")
    }
}

/// The parts of a picture that a test checks.
private final class SVGReader: NSObject, XMLParserDelegate {
    private(set) var isWellFormed = false
    private(set) var titles = 0
    private(set) var size: CGSize?
    private(set) var rectangles: [CGRect] = []
    /// The vertical positions of the times.
    private(set) var times: [Double] = []

    init(_ svg: String) {
        super.init()
        let parser = XMLParser(data: Data(svg.utf8))
        parser.delegate = self
        isWellFormed = parser.parse()
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        func number(_ name: String) -> Double { attributes[name].flatMap(Double.init) ?? 0 }
        switch name {
        case "svg": size = CGSize(width: number("width"), height: number("height"))
        case "title": titles += 1
        case "text" where attributes["class"] == "tick": times.append(number("y"))
        case "rect" where attributes["class"] != "paper":
            rectangles.append(
                CGRect(x: number("x"), y: number("y"), width: number("width"), height: number("height")))
        default: break
        }
    }
}
