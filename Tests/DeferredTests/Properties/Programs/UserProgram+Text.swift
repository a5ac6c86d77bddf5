/// A program as a reader would write it.
extension UserProgram: CustomStringConvertible {
    var description: String {
        let main = lines(steps, "")
        let others = threads.filter { !$0.isEmpty }.enumerated().flatMap { number, steps in
            ["thread \(number + 1):"] + lines(steps, "    ")
        }
        return (main + others).joined(separator: "\n")
    }
}

private func lines(_ steps: [Step], _ indent: String) -> [String] { steps.map { indent + text($0) } }

private func closure(_ script: Script) -> String {
    let steps = script.steps.map(text)
    let answer =
        switch script.answer {
        case .echo: "…"
        case .value: "return N"
        case .error: "throw E"
        case .keep: "keep(resolver)"
        case .deferred(let id): "return d\(id)"
        }
    return "{ " + (steps + [answer]).joined(separator: "; ") + " }"
}

private func names(_ ids: [Int]) -> String { "[" + ids.map { "d\($0)" }.joined(separator: ", ") + "]" }

private func text(_ step: Step) -> String {
    switch step {
    case .source(let id, let completion, let canceller):
        let head =
            completion == .handle
            ? "let d\(id) = Deferred<Int>" : "let (d\(id), r\(id)) = Deferred<Int>.withResolver"
        return head + (canceller.map { "(canceller: \(closure($0)))" } ?? "()")
    case .settled(let id, let fails):
        return "let d\(id) = Deferred<Int>.\(fails ? "rejected(E)" : "resolved(N)")"
    case .link(let id, let target, let form, let place, let script):
        let nested = if case .deferred = script.answer { true } else { false }
        let name =
            switch form {
            case .value: nested ? "then" : "map"
            case .error: nested ? "orElse" : "recover"
            case .either: nested ? "thenResult" : "mapResult"
            case .pair: nested ? "then(orElse:)" : "map(recover:)"
            }
        let on = place == .here ? "" : "(on: \(place))"
        return "let d\(id) = d\(target).\(name)\(on) \(closure(script))"
    case .shielded(let id, let target): return "let d\(id) = d\(target).shielded()"
    case .timeout(let id, let target): return "let d\(id) = d\(target).timeout(.seconds(1), timer: clock)"
    case .list(let id, let inputs, let rule, let consumes, let cancels):
        let options = (consumes ? ", consumesErrors: true" : "") + (cancels ? ", cancelsRemaining: true" : "")
        return "let d\(id) = DeferredList(\(names(inputs))\(options)).\(rule)()"
    case .limited(let id, let scripts, let limit, let rule):
        let bodies = scripts.map(closure).joined(separator: " ")
        return "let d\(id) = DeferredList(0..<\(scripts.count), limit: \(limit)) \(bodies).\(rule)()"
    case .retry(let id, let scripts, let delayed):
        let bodies = scripts.map(closure).joined(separator: " ")
        return
            "let d\(id) = Deferred.retry(attempts: \(scripts.count), delay: \(delayed ? "1 s" : ".none")) \(bodies)"
    case .locked(let id, let lock, let script): return "let d\(id) = semaphore\(lock).run \(closure(script))"
    case .latest(let id, let latest, let script): return "let d\(id) = latest\(latest).run \(closure(script))"
    case .cached(let id, let cache, let key, let script):
        return "let d\(id) = cache\(cache).value(for: \(key)) \(closure(script))"
    case .get(let id, let queue): return "let d\(id) = queue\(queue).get()"
    case .worker(let id, let queue, let script): return "let d\(id) = queue\(queue).run \(closure(script))"
    case .put(_, let queue): return "queue\(queue).put(N)"
    case .finish(let queue): return "queue\(queue).finish()"
    case .finally(let id, let target, let steps):
        return "d\(target).finally { /* f\(id) */ \(steps.map(text).joined(separator: "; ")) }"
    case .follow(let target, let other): return "d\(target).follow(d\(other))"
    case .complete(_, let target, let fails):
        return "d\(target)." + (fails ? "reject(E)" : "resolve(N, onUndelivered: …)")
    case .completeKept(let id): return "d\(id)'s kept resolver.resolve(N)"
    case .cancel(let id): return "d\(id).cancel()"
    case .cancelAll(let ids, let byBag):
        return byBag ? "bag of \(names(ids)).cancelAll()" : "DeferredList(\(names(ids))).cancel()"
    case .pause(let id): return "d\(id).pause()"
    case .unpause(let id): return "d\(id).unpause()"
    case .drop(let id): return "d\(id) = nil"
    case .dropResolver(let id): return "r\(id) = nil"
    case .dropDispatcher: return "released = nil"
    case .wait(let id): return "d\(id).wait(timeout: .nanoseconds(1))"
    case .look(let id): return "d\(id).currentResult"
    case .awaiting(let id, let target): return "let t\(id) = Task { try await d\(target).value }"
    case .cancelTask(let id): return "t\(id).cancel()"
    case .runJobs: return "executor.runJobs()"
    case .runWork: return "dispatcher.runNext()"
    case .dropWork: return "dispatcher.dropNext()"
    case .advance: return "clock.advance(by: .seconds(1))"
    }
}
