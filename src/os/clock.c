/* clock.c - the monotonic clock, sleep, processor time, and the texts of system errors. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "os/os.h"

uint64_t takt_os_now_ns(void *user)
{
    (void)user;
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void takt_os_sleep_until(uint64_t ns)
{
    const struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u),
                                   .tv_nsec = (long)(ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void takt_os_yield(void)
{
    sched_yield();
}

uint64_t takt_os_cpu_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

const char *takt_os_reason(int error, char *to, size_t size)
{
    if (error == ESPIPE) /* file.c's message: the system's would be about seeking */
        snprintf(to, size, "it is a pipe or device; a regular file is needed");
    else if (strerror_r(error, to, size) != 0 && size > 0)
        to[0] = '\0';
    return to;
}
