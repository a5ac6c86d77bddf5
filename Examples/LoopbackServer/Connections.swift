/// The connections of a server and the threads that serve them: one thread each, joined at the end.
///
/// A descriptor is closed only by its connection's own thread, after it has been removed from the list;
/// `stop` uses only descriptors in the list. So no descriptor is used after the system may have reused
/// its number.
final class Connections: Sendable {
    private struct State {
        var open: [CInt: Socket] = [:]
        var threads: [CInt: ServerThread] = [:]
        var ended: [ServerThread] = []
        var isStopping = false
    }

    private let state = Monitor(State())
    private let traffic: Watched<Traffic>
    private let routes: Routes

    init(traffic: Watched<Traffic>, routes: Routes) {
        self.traffic = traffic
        self.routes = routes
    }

    /// Serves the connection on a thread of its own.
    func serve(_ socket: Socket) {
        joinEnded()
        let isStopping = state.withLock { state in
            if !state.isStopping { state.open[socket.descriptor] = socket }
            return state.isStopping
        }
        guard !isStopping else { return socket.close() }
        traffic.update {
            $0.openConnections += 1
            $0.acceptedConnections += 1
        }
        // Starts once its thread is in the list, so that the thread cannot end before it is added.
        let mayRun = Gate()
        let thread = ServerThread { [self] in
            _ = mayRun.wait(watching: nil)
            exchangeAll(on: socket)
            leave(socket)
        }
        if let thread {
            state.withLock { $0.threads[socket.descriptor] = thread }
            mayRun.open()
        } else {
            leave(socket)
        }
    }

    /// Ends every connection and waits for the threads. Must not be called from one of them.
    func stop() {
        let open = state.withLock { state in
            state.isStopping = true
            for socket in state.open.values { socket.shutDown() }
            return state.threads.count
        }
        if open > 0 { state.wait { $0.threads.isEmpty } }
        joinEnded()
    }

    private func joinEnded() {
        let ended = state.withLock { state in
            defer { state.ended = [] }
            return state.ended
        }
        for thread in ended { thread.join() }
    }

    private func leave(_ socket: Socket) {
        state.withLock { state in
            state.open[socket.descriptor] = nil
            if let thread = state.threads.removeValue(forKey: socket.descriptor) {
                state.ended.append(thread)
            }
            socket.close()
        }
        traffic.update { $0.openConnections -= 1 }
    }

    private func exchangeAll(on socket: Socket) {
        var reader = RequestReader(socket)
        var limit: Int?
        func readingOnly(_ request: Request) -> Int? {
            limit = routes.limit(of: request)
            return limit
        }
        while let request = reader.next(readingOnly: readingOnly) {
            traffic.update {
                $0.requests.append(request)
                $0.underWay += 1
                $0.mostUnderWay = max($0.mostUnderWay, $0.underWay)
            }
            let exchange = Exchange(request: request, socket: socket)
            let isWhole = (try? routes.answer(to: request).play(exchange)) != nil
            traffic.update { $0.underWay -= 1 }
            if exchange.isReset { return }
            guard (try? exchange.sendHeldBack()) != nil, isWhole, exchange.keepsAlive, limit == nil
            else { break }
        }
        socket.finishSending()
    }
}
