// Defines the allocator's entry points in the executable, where they come before the C library's own for every
// library in the process, and forwards to glibc's. Off, it costs each call one load of a flag, the same for all
// contenders; on, relaxed atomic adds, exact once the threads involved have been waited for.

#include "AllocationCounter.h"

#if defined(__linux__) && defined(__GLIBC__)

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static atomic_bool counting;
static atomic_llong allocations;
static atomic_llong bytes;
static atomic_llong live;

// glibc keeps one word in front of each block that it hands out.
static long long footprint(void *block) { return (long long)(malloc_usable_size(block) + sizeof(size_t)); }

static inline bool is_counting(void) { return atomic_load_explicit(&counting, memory_order_relaxed); }

static void *note(void *block, size_t size) {
    if (block != NULL && is_counting()) {
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes, (long long)size, memory_order_relaxed);
        atomic_fetch_add_explicit(&live, footprint(block), memory_order_relaxed);
    }
    return block;
}

static void note_release(void *block) {
    if (block != NULL && is_counting()) {
        atomic_fetch_sub_explicit(&live, footprint(block), memory_order_relaxed);
    }
}

void *malloc(size_t size) { return note(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) { return note(__libc_calloc(count, size), count * size); }

void *realloc(void *block, size_t size) {
    if (!is_counting()) return __libc_realloc(block, size);
    long long before = block == NULL ? 0 : footprint(block);
    void *moved = __libc_realloc(block, size);
    if (moved != NULL || size == 0) atomic_fetch_sub_explicit(&live, before, memory_order_relaxed);
    return note(moved, size);
}

void *memalign(size_t alignment, size_t size) { return note(__libc_memalign(alignment, size), size); }

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void *block = memalign(alignment, size);
    if (block == NULL) return ENOMEM;
    *result = block;
    return 0;
}

void free(void *block) {
    note_release(block);
    __libc_free(block);
}

enum { cached_blocks_per_size = 7, most_attempts = 64, largest_cached_size = 520 };

static void fill_cache(size_t size) {
    void *blocks[most_attempts];
    bool is_exact[most_attempts];
    int count = 0;
    for (int exact = 0; count < most_attempts && exact < cached_blocks_per_size; count++) {
        blocks[count] = __libc_malloc(size);
        is_exact[count] = malloc_usable_size(blocks[count]) == size;
        exact += is_exact[count];
    }
    // First those that fit, so that they are the ones that the cache keeps.
    for (int i = 0; i < count; i++)
        if (is_exact[i]) __libc_free(blocks[i]);
    for (int i = 0; i < count; i++)
        if (!is_exact[i]) __libc_free(blocks[i]);
}

void allocation_cache_fill(void) {
    for (size_t size = 3 * sizeof(void *); size <= largest_cached_size; size += 2 * sizeof(void *)) fill_cache(size);
}

bool allocation_counting_is_available(void) { return true; }

void allocation_counting_reset(void) {
    atomic_store(&allocations, 0);
    atomic_store(&bytes, 0);
    atomic_store(&live, 0);
}

void allocation_counting_start(void) { atomic_store(&counting, true); }

void allocation_counting_stop(void) { atomic_store(&counting, false); }

struct allocation_counts allocation_counting_read(void) {
    return (struct allocation_counts){
        .allocations = atomic_load(&allocations), .bytes = atomic_load(&bytes), .live = atomic_load(&live)};
}

#else

void allocation_cache_fill(void) {}
bool allocation_counting_is_available(void) { return false; }
void allocation_counting_reset(void) {}
void allocation_counting_start(void) {}
void allocation_counting_stop(void) {}
struct allocation_counts allocation_counting_read(void) { return (struct allocation_counts){0, 0, 0}; }

#endif
