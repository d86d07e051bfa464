/* cost_model.c - weighs a share of the work against the cost of waking a thread. */
#include "backend/cpu/cost_model.h"

#include <stdbool.h>

#include "backend/cpu/machine.h"

enum { MANY_THREADS = 8 };          /* from here on, some are slower than others */
enum { LEAST_US = 5, MANY_US = 2 }; /* of a task, where one for each thread would be enough */
enum { MOST = 4 };                  /* tasks for each thread */
static const double FOREVER = 1e12;
static const double NEAR_BYTES = 1 << 20; /* bytes that stay in a thread's own caches */

const takt_cost_model *takt_cost_model_of(takt_isa_set isas)
{
    return &takt_cpu_machine_of(isas)->cost_model;
}

double takt_cost_model_us(const takt_cost_model *w, double flops, double bytes)
{
    const double near = bytes < NEAR_BYTES ? bytes : NEAR_BYTES, far = bytes - near;
    const double by_flops = flops / w->flops_per_us;
    const double by_bytes = near / w->bytes_per_us + far / w->far_per_us;
    return by_flops > by_bytes ? by_flops : by_bytes;
}

/* How many of up to `most` threads finish work of `us` soonest. */
static size_t soonest(const takt_cost_model *w, double us, size_t most)
{
    size_t best = 1;
    double least = w->gain * us;
    for (size_t n = 2; n <= most; n++) {
        const double all = us / (double)n + w->call_us + w->each_us * (double)n;
        if (all < least) {
            least = all;
            best = n;
        } else if (best > 1) {
            break; /* from here on it grows */
        }
    }
    return best;
}

size_t takt_cost_model_tasks(const takt_cost_model *w, double us, size_t threads)
{
    us = us < FOREVER ? us : FOREVER; /* avoids a share of infinity */
    const bool are_many = threads >= MANY_THREADS;
    const double each = us / ((double)threads * (are_many ? MANY_US : LEAST_US));
    if (threads > 1 && each >= 2 && soonest(w, us, threads) == threads)
        return threads * (each < MOST ? (size_t)each : MOST);
    return soonest(w, us, are_many ? threads / 2 : threads);
}
