#define _GNU_SOURCE

#include "InstructionCounter.h"

#if defined(__linux__)

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

// The parent stops each of these signals on its way, so that none reaches the child.
static const int signals[] = {
    [instruction_mark_start] = SIGUSR1,
    [instruction_mark_stop] = SIGUSR2,
    [instruction_mark_sample] = SIGVTALRM,
};

int instruction_counting_allow(void) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) return errno;
    raise(SIGSTOP);
    return 0;
}

void instruction_counting_mark(enum instruction_mark mark) { raise(signals[mark]); }

// One processor for both: a step is two changes from one process to the other, which are dearer across processors.
static void stay_on_one_processor(void) {
    cpu_set_t processors;
    if (sched_getaffinity(0, sizeof(processors), &processors) != 0) return;
    int first = 0;
    while (!CPU_ISSET(first, &processors)) first++;
    CPU_ZERO(&processors);
    CPU_SET(first, &processors);
    sched_setaffinity(0, sizeof(processors), &processors);
}

static pid_t spawn(char *const arguments[]) {
    pid_t child = fork();
    if (child != 0) return child;
    personality(ADDR_NO_RANDOMIZE);
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
    setenv("LD_BIND_NOW", "1", 1);
    stay_on_one_processor();
    execv("/proc/self/exe", arguments);
    _exit(127);
}

int instruction_counting_run(char *const arguments[], int64_t *samples, int capacity) {
    pid_t child = spawn(arguments);
    if (child < 0) return -1;
    stay_on_one_processor();

    int count = 0, status = 0;
    int64_t steps = 0;
    bool is_stepping = false;
    while (waitpid(child, &status, 0) == child) {
        if (WIFEXITED(status)) {
            if (WEXITSTATUS(status) == 0) return count;
            return WEXITSTATUS(status) == EPERM ? -2 : -1;
        }
        if (WIFSIGNALED(status)) return -1;
        int passed_on = 0;
        int signal = WSTOPSIG(status);
        if (signal == SIGTRAP && is_stepping) {
            steps++;
        } else if (signal == SIGSTOP) {
            ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_EXITKILL);
        } else if (signal == signals[instruction_mark_start]) {
            is_stepping = true;
        } else if (signal == signals[instruction_mark_stop]) {
            is_stepping = false;
        } else if (signal == signals[instruction_mark_sample]) {
            if (count < capacity) samples[count++] = steps;
            steps = 0;
        } else {
            passed_on = signal;
        }
        ptrace(is_stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, (void *)(intptr_t)passed_on);
    }
    return -1;
}

#else

int instruction_counting_allow(void) { return 1; }
void instruction_counting_mark(enum instruction_mark mark) { (void)mark; }
int instruction_counting_run(char *const arguments[], int64_t *samples, int capacity) {
    (void)arguments, (void)samples, (void)capacity;
    return -2;
}

#endif
