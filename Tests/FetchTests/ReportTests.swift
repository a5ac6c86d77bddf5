import Foundation
import Testing

@testable import fetch

struct ReportTests {
    @Test("A report is one line of JSON whose keys are always the same, with an error where there is one")
    func json() throws {
        var report = Report(url: "http://h/\"a\"\u{1}\n\u{2028}é", end: .fetched)
        report.status = 200
        report.byteCount = 5
        report.file = "d/a"
        report.duration = .milliseconds(1500)
        report.attempts = 2
        let expected =
            #"{"url":"http://h/\"a\"\u0001\n\u2028é","status":200,"bytes":5,"file":"d/a","seconds":1.500,"attempts":2,"result":"fetched"}"#
        #expect(report.json == expected)
        let parsed = try #require(
            JSONSerialization.jsonObject(with: Data(report.json.utf8)) as? [String: Any])
        #expect(parsed["url"] as? String == report.url)

        let failed = Report(url: "u", end: .failed(reason: "404 Not Found"))
        let line =
            #"{"url":"u","status":null,"bytes":0,"file":null,"seconds":0.000,"attempts":0,"result":"failed","error":"404 Not Found"}"#
        #expect(failed.json == line)
    }
}
