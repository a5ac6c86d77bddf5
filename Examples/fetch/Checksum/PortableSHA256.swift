/// The hash function SHA-256 of FIPS 180-4, for platforms without CryptoKit.
///
/// ```swift
/// var hash = PortableSHA256()
/// hash.update(bytes)
/// let digest = hash.finalized()
/// ```
struct PortableSHA256 {
    static let blockSize = 64

    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
        0x5be0_cd19,
    ]
    /// The beginning of a block that is not full yet.
    private var rest: [UInt8] = []
    private var byteCount: UInt64 = 0

    /// Adds `bytes` to the message.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        byteCount += UInt64(bytes.count)
        var bytes = bytes
        if !rest.isEmpty {
            let missing = min(Self.blockSize - rest.count, bytes.count)
            rest.append(contentsOf: bytes.prefix(missing))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(missing))
            guard rest.count == Self.blockSize else { return }
            let block = rest
            rest = []
            block.withUnsafeBytes { compress($0) }
        }
        let whole = bytes.count / Self.blockSize * Self.blockSize
        compress(UnsafeRawBufferPointer(rebasing: bytes.prefix(whole)))
        rest.append(contentsOf: bytes.dropFirst(whole))
    }

    /// Returns the 32 bytes of the hash of the message so far.
    func finalized() -> [UInt8] {
        var copy = self
        var padding: [UInt8] = [0x80]
        while (rest.count + padding.count) % Self.blockSize != 56 { padding.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            padding.append(UInt8(truncatingIfNeeded: (byteCount * 8) >> UInt64(shift)))
        }
        padding.withUnsafeBytes { copy.update($0) }
        return copy.state.flatMap { word in
            stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    /// Takes in whole blocks.
    private mutating func compress(_ blocks: UnsafeRawBufferPointer) {
        guard let start = blocks.baseAddress else { return }
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
            state.withUnsafeMutableBufferPointer { state in
                Self.constants.withUnsafeBufferPointer { constants in
                    guard let schedule = schedule.baseAddress, let state = state.baseAddress,
                        let constants = constants.baseAddress
                    else { return }
                    var offset = 0
                    while offset < blocks.count {
                        Self.compress(start + offset, into: state, schedule, constants)
                        offset &+= Self.blockSize
                    }
                }
            }
        }
    }

    /// Takes in the block of 64 bytes at `block`.
    ///
    /// Written with pointers, masking shifts and `while`, and without functions for the parts: a debug build, as of
    /// `swift run`, is 10 times as fast by that. Sound: `schedule` and `constants` have 64 elements, `state` has 8.
    private static func compress(
        _ block: UnsafeRawPointer, into state: UnsafeMutablePointer<UInt32>,
        _ schedule: UnsafeMutablePointer<UInt32>, _ constants: UnsafePointer<UInt32>
    ) {
        var index = 0
        while index < 16 {
            schedule[index] = block.loadUnaligned(fromByteOffset: 4 &* index, as: UInt32.self).bigEndian
            index &+= 1
        }
        while index < 64 {
            let early = schedule[index &- 15]
            let late = schedule[index &- 2]
            let sigma0 = (early &>> 7 | early &<< 25) ^ (early &>> 18 | early &<< 14) ^ (early &>> 3)
            let sigma1 = (late &>> 17 | late &<< 15) ^ (late &>> 19 | late &<< 13) ^ (late &>> 10)
            schedule[index] = schedule[index &- 16] &+ sigma0 &+ schedule[index &- 7] &+ sigma1
            index &+= 1
        }
        var a = state[0]
        var b = state[1]
        var c = state[2]
        var d = state[3]
        var e = state[4]
        var f = state[5]
        var g = state[6]
        var h = state[7]
        index = 0
        while index < 64 {
            let sum1 = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
            let choice = (e & f) ^ (~e & g)
            let first = h &+ sum1 &+ choice &+ constants[index] &+ schedule[index]
            let sum0 = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            h = g
            g = f
            f = e
            e = d &+ first
            d = c
            c = b
            b = a
            a = first &+ sum0 &+ majority
            index &+= 1
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
        state[5] &+= f
        state[6] &+= g
        state[7] &+= h
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
        0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7,
        0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc,
        0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351,
        0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e,
        0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585,
        0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f,
        0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
        0xc671_78f2,
    ]
}
