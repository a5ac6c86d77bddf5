#define _GNU_SOURCE

#include "AllocationCounter.h"

#if defined(__linux__)

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>

// Threads that exist already keep their own mask, so each is told; those made later inherit from their maker.
bool processor_pinning_set(bool pinned) {
    static cpu_set_t all;
    static bool known = false;
    if (!known && sched_getaffinity(0, sizeof(all), &all) != 0) return false;
    known = true;

    cpu_set_t wanted = all;
    if (pinned) {
        int processor = 0;
        while (!CPU_ISSET(processor, &all)) processor++;
        CPU_ZERO(&wanted);
        CPU_SET(processor, &wanted);
    }

    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return false;
    struct dirent *entry;
    while ((entry = readdir(threads)) != NULL) {
        int thread = atoi(entry->d_name);
        if (thread > 0) sched_setaffinity(thread, sizeof(wanted), &wanted);
    }
    closedir(threads);
    return true;
}

#else

bool processor_pinning_set(bool pinned) {
    (void)pinned;
    return false;
}

#endif
