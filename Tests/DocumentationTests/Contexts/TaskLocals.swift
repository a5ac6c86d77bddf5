import Deferred

private enum ServiceContext {
    @TaskLocal static var current: String?
}

private enum Request {
    @TaskLocal static var name = "none"
}

private let page = Deferred<String>()
