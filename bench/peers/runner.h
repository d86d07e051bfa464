/* runner.h - what the host asks of an engine: four functions, and the timing that all share.
 *
 * A runner is a shared object with these functions. Messages are NULL when all is well, else why
 * it is not; they live until the next call. One workload is loaded at a time.
 */
#ifndef PEERS_RUNNER_H
#define PEERS_RUNNER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
#define PEER_API __attribute__((visibility("default")))

/* `library`: the path of the engine's own shared object, "" if the runner is linked with it. */
PEER_API const char *peer_open(const char *library);
PEER_API const char *peer_version(void);
/* `folder` holds model.onnx, graph.txt and data.bin. */
PEER_API const char *peer_load(const char *folder, int threads);
PEER_API const char *peer_run(void);
/* The output of the last run: its address and size in bytes. */
PEER_API const void *peer_output(size_t *bytes);

static inline double peer_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Runs for `warm_ns` without and then for `budget_ns` with a reading of the clock around every run,
 * each phase once at least. Fewer than 0 samples: a run failed. */
PEER_API long peer_time(double warm_ns, double budget_ns, double *samples, long capacity)
{
    const double start = peer_now();
    do {
        if (peer_run() != NULL)
            return -1;
    } while (peer_now() - start < warm_ns);
    const double begin = peer_now();
    double before = begin;
    long count = 0;
    while (count < capacity && (count == 0 || before - begin < budget_ns)) {
        if (peer_run() != NULL)
            return -1;
        const double after = peer_now();
        samples[count++] = after - before;
        before = after;
    }
    return count;
}
#ifdef __cplusplus
}
#endif
#endif
