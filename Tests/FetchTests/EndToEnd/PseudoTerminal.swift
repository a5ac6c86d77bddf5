import Foundation

/// A pseudo-terminal.
struct PseudoTerminal: Sendable {
    /// The end of the terminal emulator.
    let master: Int32

    struct Unavailable: Error {}

    init(columns: Int, rows: Int) throws {
        #if canImport(Darwin)
        master = posix_openpt(O_RDWR | O_NOCTTY)
        guard master >= 0, grantpt(master) == 0, unlockpt(master) == 0 else { throw Unavailable() }
        #else
        // As `posix_openpt` and `unlockpt`, which Swift does not import on Linux.
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var isLocked: Int32 = 0
        guard master >= 0, ioctl(master, Self.setLock, &isLocked) == 0 else { throw Unavailable() }
        #endif
        _ = fcntl(master, F_SETFD, FD_CLOEXEC)
        resize(columns: columns, rows: rows)
    }

    func resize(columns: Int, rows: Int) {
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// The end of the program.
    func opened() throws -> Int32 {
        #if canImport(Darwin)
        guard let name = ptsname(master).map({ String(cString: $0) }) else { throw Unavailable() }
        #else
        var number: UInt32 = 0
        guard ioctl(master, Self.getNumber, &number) == 0 else { throw Unavailable() }
        let name = "/dev/pts/\(number)"
        #endif
        let descriptor = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unavailable() }
        return descriptor
    }

    #if !canImport(Darwin)
    /// `TIOCSPTLCK`
    private static let setLock: UInt = 0x4004_5431
    /// `TIOCGPTN`
    private static let getNumber: UInt = 0x8004_5430
    #endif
}
