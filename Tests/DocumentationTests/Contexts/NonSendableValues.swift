import Deferred
import Dispatch

private final class Parser {
    func parse(_ text: String) -> Int { 1 }
}

final class Bitmap {}

@MainActor private final class Document {
    var text = ""
    nonisolated init() {}
}

private let (document, text, page) = (Document(), Deferred<String>(), Deferred<String>())
private let queue = DispatchQueue(label: "queue")
private func makeParser() -> Deferred<NonSendableValuesExamples.Parcel<Parser>> { .never() }
