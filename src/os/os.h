/* os.h - the operating system's services, as a context takes them.
 *
 * The objects they hand out (files, threads) live in memory of the caller's allocator, so that they
 * are counted and can be made to fail like everything else. */
#ifndef TAKT_OS_OS_H
#define TAKT_OS_OS_H

#include <takt/ctx.h>

#include "base/inner.h"

takt_allocator takt_os_allocator(void);
/* `memory` is borrowed as long as the services are used. */
takt_files takt_os_files(const takt_allocator *memory);
takt_threads takt_os_threads(const takt_allocator *memory);
/* Bytes that one of these threads allocates; 0: the threads are not ours. */
size_t takt_os_thread_bytes(const takt_threads *threads);
/* The id of this process; it differs in a forked child. */
uint64_t takt_os_process(void);
/* Monotonic; `user` is not used. */
uint64_t takt_os_now_ns(void *user);
/* Returns at about the time `ns` of that clock, or a little before. */
TAKT_INNER void takt_os_sleep_until(uint64_t ns);
/* Yields the processor to other threads. */
TAKT_INNER void takt_os_yield(void);
/* Processor time of this process, all threads, in nanoseconds; 0 where the system does not say. */
TAKT_INNER uint64_t takt_os_cpu_ns(void);
/* Text of an errno in `to`, terminated; returns `to`. */
TAKT_INNER const char *takt_os_reason(int error, char *to, size_t size);

#endif
