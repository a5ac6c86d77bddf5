// A scheduler that decides, at each access to an atomic and each taking of a lock, which thread goes on. The
// threads of a run are fibers of one thread of the system, so a run is deterministic and can be repeated.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// What a thread is about to do at a scheduling point.
enum {
    IL_START = 0,
    IL_READ = 1,
    IL_WRITE = 2,
    /// Takes a lock: enabled only while nobody holds it.
    IL_LOCK = 3,
    /// Touches nothing; another thread may go on.
    IL_YIELD = 4,
    /// Waits for a semaphore: enabled only while its count is positive.
    IL_WAIT = 5
};

// MARK: Called by the instrumented code

/// A scheduling point before an access of `kind` to `cell`; returns when the thread is scheduled.
void il_point(const void *_Nullable cell, long kind);
/// A scheduling point before taking a lock; returns when the lowest bit of the byte at `cell` is clear.
void il_lock(const void *_Nonnull cell);
/// A scheduling point before waiting; returns when the Int64 at `cell` is positive.
void il_wait(const void *_Nonnull cell);
/// A scheduling point before the references to any object are counted (`IL_READ`) or changed (`IL_WRITE`).
void il_point_references(long kind);
/// Whether accesses are no scheduling points: what only looks, and takes no lock, needs none.
void il_unscheduled(bool isOn);
/// Returns a number below `count`, each of which is tried; 0 outside of a run. Any other than 0 counts as a preemption.
int il_choose(int count);
/// The number of the running thread, which is never 0, and even, as an address is.
unsigned long il_thread(void);
/// The running thread's own value for a key; outside of a run, that of a further thread.
void *_Nullable il_slot_get(uint32_t key);
void il_slot_set(uint32_t key, void *_Nullable value);
/// Memory for one atomic, which is not used again before the run ends.
void *_Nonnull il_cell_new(void);
/// Ends the lifetime of an atomic. An access after that fails the run.
void il_cell_end(void *_Nonnull cell);
/// Fails the run, which goes on to its end. The first failure is kept.
void il_fail(const char *_Nonnull text);

// MARK: Called by the explorer

/// How schedules are chosen.
enum {
    /// Every schedule with at most `bound` preemptions.
    IL_BOUNDED = 0,
    /// Every order of dependent accesses: dynamic partial-order reduction with sleep sets.
    IL_REDUCED = 1,
    /// The schedule in `replay`, once.
    IL_REPLAY = 2
};

typedef struct {
    long mode;
    int bound;
    /// Whether accesses to atomics that are older than the run, such as those of static properties, are
    /// scheduling points.
    bool includesGlobals;
    /// Called at each step, by the thread that goes on.
    void (*_Nullable stepped)(void);
    /// A thread's digit for each step.
    const char *_Nullable replay;
} il_config;

void il_begin(const il_config *_Nonnull config);
/// Prepares the next schedule; false when all have been explored.
bool il_next(void);

enum {
    IL_ENDED = 0,
    /// No thread can go on, or they go on for ever.
    IL_STUCK = 1,
    /// Only an order of independent accesses differed from a run before: no schedule of its own.
    IL_REDUNDANT = 2
};

/// Runs `count` threads to their end, each with `body(context, index)`.
long il_run(int count, void (*_Nonnull body)(void *_Nullable, int), void *_Nullable context);
/// The text of the run's first failure; null if there is none.
const char *_Nullable il_failure(void);
/// The schedule of the last run, for `replay`.
const char *_Nonnull il_schedule(void);
/// The preemptions in the last run: a thread was stopped that could have gone on.
int il_preemptions(void);
/// How many atomics there are.
long il_cells_alive(void);

// The steps of the last run.
uint64_t il_step_count(void);
int il_step_thread(uint64_t step);
long il_step_kind(uint64_t step);
/// The number of the step's atomic among those made in the run; -1 for one from outside, or none.
long il_step_cell(uint64_t step);

/// Has standard output written line by line, so that nothing is lost if the process crashes.
void il_flush_lines(void);
/// A name that is printed if the process crashes.
void il_set_name(const char *_Nonnull name);

// MARK: Processes and planted faults

/// Runs `body` in a process of its own, which it may crash; returns 0 for true, 1 for false, else the signal's
/// number, negative.
int il_in_process(bool (*_Nonnull body)(void *_Nullable), void *_Nullable context);

/// Runs `body` in so many processes at once, and returns whether it returned true in all.
bool il_in_processes(int count, bool (*_Nonnull body)(void *_Nullable), void *_Nullable context);
/// The next number of 0, 1, …, in whichever of the processes that `il_in_processes` has started.
long il_ticket(void);
/// Writes what such a process has printed.
void il_flush(void);

extern int il_planted_fault;
/// Whether a fault is switched on. 0 is none.
static inline bool il_is_planted(int number) { return il_planted_fault == number; }
static inline void il_plant(int number) { il_planted_fault = number; }

#if defined(__cplusplus)
}
#endif
