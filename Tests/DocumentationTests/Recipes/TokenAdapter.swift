import Deferred
import DeferredOperations
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

final class TokenAdapter: Sendable {
    private let token: Mutex<String>
    private let renewals = DeferredCache<String, String>(keepingFor: .seconds(60))
    private let renew: @Sendable () -> Deferred<String>

    init(token: String, renew: @escaping @Sendable () -> Deferred<String>) {
        self.token = Mutex(token)
        self.renew = renew
    }

    func dataSource(for request: URLRequest) -> URLDataSource {
        var request = request
        let (host, sent) = (request.url?.host, token.withLock { $0 })
        request.setValue("Bearer \(sent)", forHTTPHeaderField: "Authorization")
        var options = TransferOptions()
        options.onChallenge = { [self] challenge in
            // Not for another host, where a redirect may lead; and not again, if the renewed token is refused too.
            guard challenge.request.url?.host == host, challenge.attempt == 1 else { return .resolved(nil) }
            return renewedToken(after: sent).map { challenge.answered(authorization: "Bearer \($0)") }
        }
        return URLDataSource(request, options: options)
    }

    private func renewedToken(after refused: String) -> Deferred<String> {
        let latest = token.withLock { $0 }
        if latest != refused { return .resolved(latest) }
        return renewals.value(for: refused) {
            renew().map { [self] renewed in
                token.withLock { $0 = renewed }
                return renewed
            }
        }
    }
}
