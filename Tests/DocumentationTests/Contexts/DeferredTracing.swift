import Foundation

private let traceFile = URL(filePath: "/")
