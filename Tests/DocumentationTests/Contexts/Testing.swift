import Deferred

private let page = Deferred.resolved("text")
