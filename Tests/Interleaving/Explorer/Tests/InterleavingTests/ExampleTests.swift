import Interleaving
import Testing

@testable import Examples

/// What a program of two threads does in every schedule. The scheduler belongs to the process: one test after the other.
@Suite(.serialized)
struct ExploringTests {
    @Test("a stack without locks gives a slot to two threads (ABA)", arguments: [false, true])
    func stack(isTagged: Bool) {
        let seen = explore {
            let stack = LockFreeStack(slots: 2, isTagged: isTagged), log = Log()
            stack.push(0)
            stack.push(1)
            return Program(
                { if let slot = stack.pop() { log.add("\(slot)") } },
                {
                    let first = stack.pop()
                    if let second = stack.pop() { log.add("\(second)") }
                    if let first { stack.push(first) }
                }
            ) {
                while let slot = stack.pop() { log.add("\(slot)") }
                return expect(Set(log.entries).count == log.entries.count, "twice: \(log.text)")
            }
        }
        #expect((seen.violation == nil) == isTagged)
        #expect(!seen.isCutOff)
        if !isTagged { #expect(seen.violation?.preemptions == 1) }
    }

    @Test("two threads that take two locks in opposite orders wait for each other")
    func deadlock() {
        func transfers(_ transfer: @escaping (Int, Account, Account) -> Void) -> Judgement {
            explore {
                let a = Account(1, 100), b = Account(2, 100)
                return Program({ transfer(10, a, b) }, { transfer(5, b, a) }) {
                    expect(a.balance.withLock { $0 } == 95, "money is lost")
                }
            }
        }
        #expect(transfers(Account.transfer).violation?.text == "no thread can go on")
        #expect(transfers(Account.transferInOrder).violation == nil)
    }
}
