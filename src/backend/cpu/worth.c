/* worth.c - weighs a share of the work against calling a thread for it. */
#include "backend/cpu/worth.h"

enum { LEAST_US = 5 };          /* of a task, where one for each thread would do */
enum { MOST = 4 };              /* tasks for each thread */
static const double GAIN = 0.9; /* of the time alone: what others must leave of it at most */
static const double FOREVER = 1e12;

/* Measured on a Neoverse V1 of two cores and a Xeon of eight with two threads each: bench/NOTES.md.
 */
static const takt_worth arm = {6e4, 6e4, 0.3, 0.1};
static const takt_worth avx512 = {1e5, 5e4, 0.8, 0.15};
static const takt_worth avx2 = {6e4, 4e4, 0.8, 0.15};
static const takt_worth plain = {5e3, 2e4, 0.8, 0.15};

const takt_worth *takt_worth_of(takt_isa_set isas)
{
    if (isas & 1u << TAKT_ISA_avx512)
        return &avx512;
    if (isas & 1u << TAKT_ISA_avx2)
        return &avx2;
    return isas & 1u << TAKT_ISA_neon ? &arm : &plain;
}

double takt_worth_us(const takt_worth *w, double flops, double bytes)
{
    const double by_flops = flops / w->flops_per_us, by_bytes = bytes / w->bytes_per_us;
    return by_flops > by_bytes ? by_flops : by_bytes;
}

size_t takt_worth_threads(const takt_worth *w, double us, size_t threads)
{
    us = us < FOREVER ? us : FOREVER; /* a share of infinity is no less */
    size_t best = 1;
    double least = GAIN * us;
    for (size_t n = 2; n <= threads; n++) {
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

size_t takt_worth_tasks(const takt_worth *w, double us, size_t threads)
{
    const size_t n = takt_worth_threads(w, us, threads);
    const double each = us / (double)(threads * LEAST_US);
    if (n < threads || n == 1 || each < 2)
        return n;
    return n * (each < MOST ? (size_t)each : MOST);
}
