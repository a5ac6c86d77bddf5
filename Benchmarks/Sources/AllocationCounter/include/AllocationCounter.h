#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// What the allocator was asked for while counting was on, by all threads together.
struct allocation_counts {
    /// Calls that gave out a new block, or moved or grew one.
    int64_t allocations;
    /// The bytes those calls asked for.
    int64_t bytes;
    /// Bytes taken from the heap less bytes given back, each block with its header and padding.
    int64_t live;
};

/// Whether this program's allocator can be counted on this platform (Linux with glibc).
bool allocation_counting_is_available(void);
void allocation_counting_reset(void);
void allocation_counting_start(void);
void allocation_counting_stop(void);
struct allocation_counts allocation_counting_read(void);

/// Fills this thread's cache of free blocks, for each small size.
///
/// glibc serves a request of 104 bytes with a block of 120 if it has no other, through its slow path; and when that is
/// freed, it belongs to the blocks of 120, of which the cache may have enough. The next request finds none of 104 again. So
/// what else the process did before would decide for a whole sample which path the allocator takes.
void allocation_cache_fill(void);

/// Keeps every thread of this process on one processor (or, with `false`, lets them use all). False if it can't.
bool processor_pinning_set(bool pinned);

#endif
