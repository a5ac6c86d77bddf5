#ifndef STEP_COUNTER_H
#define STEP_COUNTER_H

#include <stdint.h>

// Counts the steps of a program that was compiled with `-profile-generate`: how often its functions, loops and branches
// were entered, for which the compiler then keeps counters. The same in each run, whatever else the machine does, and as
// fast as the program. What the system's libraries do is counted by the bytes that they move: 64 are a step.

/// The steps so far; -1 if the program was compiled without counters.
int64_t step_counting_read(void);

#endif
