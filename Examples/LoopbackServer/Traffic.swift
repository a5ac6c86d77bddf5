/// What the server has received, up to some moment.
struct Traffic {
    var requests: [Request] = []
    var underWay = 0
    var mostUnderWay = 0
    var openConnections = 0
    var acceptedConnections = 0
}
