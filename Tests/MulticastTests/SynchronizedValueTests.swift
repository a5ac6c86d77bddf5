import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct SynchronizedValueTests {
    private struct Refusal: Error, Equatable {}

    @Test("SynchronizedValue: read returns its closure's result, write changes the value")
    func readsAndWrites() {
        let value = SynchronizedValue([1, 2])
        #expect(value.read { $0.count } == 2)
        let removed = value.write { $0.removeLast() }
        #expect(removed == 2)
        value.write { $0.append(7) }
        #expect(value.value == [1, 7])
    }

    @Test(
        "SynchronizedValue: a closure's error is rethrown typed, a write keeps its changes, and both release the lock"
    )
    func throwing() {
        let value = SynchronizedValue(1)
        #expect(throws: Refusal()) { try value.read { _ throws(Refusal) -> Int in throw Refusal() } }
        do {
            try value.write { number throws(Refusal) in
                number = 2
                throw Refusal()
            }
        } catch {
            let typed: Refusal = error
            #expect(typed == Refusal())
        }
        value.write { $0 += 1 }
        #expect(value.value == 3)
    }

    @Test("SynchronizedValue: two readers are inside at once")
    func readersTogether() {
        let value = SynchronizedValue(0)
        let arrived = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
        onThreads(2) { index in
            value.read { _ in
                arrived[index].signal()
                expectSignal(arrived[1 - index])
            }
        }
    }

    @Test("SynchronizedValue: the lock's marks fit into 32 bits and into 64", arguments: [32, 64])
    func marks(bitWidth: Int) {
        let mark = 1 << ReadersWriterLock.markBit(of: bitWidth)
        #expect(mark > 1 << 24, "more than there are threads")
        #expect(bitWidth == 64 || 2 * mark <= Int(Int32.max))
        #expect(bitWidth == 32 || !mark.addingReportingOverflow(mark).overflow)
    }

    @Test("SynchronizedValue: writes from many threads are not lost, and readers never see half of one")
    func exclusion() {
        let value = SynchronizedValue((0, 0))
        let torn = SharedLog<Bool>()
        onThreads(6) { index in
            for round in 0..<2_000 {
                if (round + index).isMultiple(of: 3) {
                    value.write {
                        $0.0 += 1
                        $0.1 += 1
                    }
                } else if value.read({ $0.0 != $0.1 }) {
                    torn.add(true)
                }
            }
        }
        #expect(torn.all.isEmpty)
        #expect(value.value.0 == 4_000)
    }

    @Test("SynchronizedValue: a reader that arrives after a waiting writer runs after it")
    func writerIsNotPassed() {
        let value = SynchronizedValue(0)
        let order = SharedLog<String>()
        let group = DispatchGroup()
        value.read { _ in
            DispatchQueue(label: "writer").async(group: group) { value.write { _ in order.add("writer") } }
            waitUntil { value.lock.isWanted }
            DispatchQueue(label: "reader").async(group: group) {
                value.read { _ in order.add("later reader") }
            }
            waitUntil { value.lock.readerCount == 2 }
            order.add("first reader")
        }
        group.wait()
        #expect(order.all == ["first reader", "writer", "later reader"])
    }

    @Test("SynchronizedValue: readers that came during a write go before the next writer")
    func readersAreNotPassed() {
        for _ in 0..<50 {
            let value = SynchronizedValue(0)
            let order = SharedLog<String>()
            let group = DispatchGroup()
            value.write { _ in
                for _ in 0..<2 {
                    DispatchQueue(label: "reader").async(group: group) {
                        value.read { _ in order.add("reader") }
                    }
                }
                waitUntil { value.lock.readerCount == 2 }
                DispatchQueue(label: "writer").async(group: group) {
                    value.write { _ in order.add("writer") }
                }
            }
            group.wait()
            #expect(order.all == ["reader", "reader", "writer"])
        }
    }

    @Test("SynchronizedValue: reading again inside a read succeeds, though a writer waits")
    func nestedRead() {
        let value = SynchronizedValue(5)
        let group = DispatchGroup()
        let sum = value.read { outer in
            DispatchQueue(label: "writer").async(group: group) { value.write { $0 = 9 } }
            waitUntil { value.lock.isWanted }
            return outer + value.read { inner in inner + value.read { $0 } }
        }
        group.wait()
        #expect(sum == 15)
        #expect(value.value == 9)
        #expect(value.lock.readerCount == 0)
    }

    #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    @Test("SynchronizedValue: a write inside a read stops with a message, instead of waiting for itself")
    func writeInsideRead() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let value = SynchronizedValue(0)
            value.read { _ in value.write { $0 = 1 } }
        }
        #expect(text(result).contains("write { } inside read { }"))
        #expect(
            text(result).components(separatedBy: "SynchronizedValueTests.swift:").count == 3,
            "M3: the places of both calls")
    }

    @Test("SynchronizedValue: a write inside a read stops though another value is read between")
    func writeInsideOuterRead() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (value, other) = (SynchronizedValue(0), SynchronizedValue(0))
            value.read { _ in other.read { _ in value.write { $0 = 1 } } }
        }
        #expect(text(result).contains("write { } inside read { }"))
    }

    @Test("SynchronizedValue: a read inside a write stops with a message")
    func readInsideWrite() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let value = SynchronizedValue(0)
            value.write { _ in _ = value.value }
        }
        #expect(text(result).contains("read { } inside write { }"))
        #expect(
            text(result).contains("(begun at MulticastTests/SynchronizedValueTests.swift:"),
            "M3: a property does not know its caller; the write does")
    }
    #endif
}

private func text(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}
