import Deferred

private enum Request {
    @TaskLocal static var name = "none"
}

private let page = Deferred<String>()
