import Synchronization

/// An account, with a lock of its own.
final class Account: Sendable {
    let number: Int
    let balance: Mutex<Int>

    init(_ number: Int, _ balance: Int) {
        self.number = number
        self.balance = Mutex(balance)
    }

    /// Takes both locks in the order of the arguments: two transfers in opposite directions may wait for each other.
    static func transfer(_ amount: Int, from: Account, to: Account) {
        from.balance.withLock { source in
            to.balance.withLock { target in
                source -= amount
                target += amount
            }
        }
    }

    /// Takes both locks in the order of the numbers.
    static func transferInOrder(_ amount: Int, from: Account, to: Account) {
        if from.number < to.number {
            transfer(amount, from: from, to: to)
        } else {
            transfer(-amount, from: to, to: from)
        }
    }
}
