#ifndef INSTRUCTION_COUNTER_H
#define INSTRUCTION_COUNTER_H

#include <stdint.h>

// Counts the instructions that one thread of a child process executes between two marks, by letting it take one step
// at a time. Slow (about a microsecond an instruction), but exact, and possible wherever a process may trace its child:
// it takes no performance counters, which virtual machines often lack.

/// The marks with which the child tells its parent what to count.
enum instruction_mark {
    instruction_mark_start,
    instruction_mark_stop,
    /// What was counted since the last sample, however often started and stopped, is one sample.
    instruction_mark_sample,
};

/// In the child: lets the parent trace this thread. Zero, or the system's error number.
int instruction_counting_allow(void);
/// In the child: sends a mark to the parent.
void instruction_counting_mark(enum instruction_mark mark);

/// In the parent: runs a program that calls the functions above, and stores the instructions of each sample. Memory is
/// laid out alike, and hashing is not random, in each run. Returns the number of samples, at most `capacity`; or a
/// negative number: -1, the child failed; -2, this system cannot trace a child.
int instruction_counting_run(char *const arguments[], int64_t *samples, int capacity);

#endif
