public let warm = 0
