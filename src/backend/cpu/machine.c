/* machine.c - the figures of the kinds of processors. Measured on a Neoverse V1 of two cores and a
 * Xeon whose 16 threads are 8 cores (bench/notes/threads.md); other machines are in between. */
#include "backend/cpu/machine.h"

/* Rough figures of one core, for estimates of fusion: the same on all machines, so that plans are
 * too. */
#define SHARED                                                                                     \
    {                                                                                              \
        .flops_per_us = 2e4, .bytes_per_us = 2e4, .step_us = 0.5                                   \
    }

/* A panel from the last level of cache takes as long as 3 rows on a Neoverse V1, 19 on an AVX-512
 * Xeon whose cores share 300 GB/s. */
const takt_cut_figures takt_cpu_cut_figures = {.panel_rows = 10,
                                               .near_panel_rows = 3,
                                               .near_bytes = 512 << 10,
                                               .own_bytes = 1 << 20,
                                               .flops_per_us = 6e4,
                                               .near_per_us = 4e4,
                                               .far_per_us = 1e4,
                                               .taking_us = 0.3};

static const takt_cpu_machine arm = {SHARED, {6e4, 6e4, 3e4, 1e5, 0.3, 0.1, 0.9, 4, 8}};
static const takt_cpu_machine avx512 = {SHARED, {1.2e5, 9e4, 2e4, 6e3, 0.9, 0.15, 0.75, 4, 32}};
static const takt_cpu_machine amx = {SHARED, {1.2e5, 9e4, 2e4, 6e3, 0.9, 0.15, 0.75, 8, 32}};
static const takt_cpu_machine avx2 = {SHARED, {6e4, 6e4, 2e4, 6e3, 0.9, 0.15, 0.75, 1, 16}};
static const takt_cpu_machine plain = {SHARED, {5e3, 2e4, 2e4, 6e3, 0.9, 0.15, 0.75, 1, 1}};

const takt_cpu_machine *takt_cpu_machine_of(takt_isa_set isas)
{
    if (isas & 1u << TAKT_ISA_avx512)
        return isas & 1u << TAKT_ISA_amx ? &amx : &avx512;
    if (isas & 1u << TAKT_ISA_avx2)
        return &avx2;
    return isas & 1u << TAKT_ISA_neon ? &arm : &plain;
}
