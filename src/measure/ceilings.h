/* ceilings.h - the measured peak rates of this machine. */
#ifndef TAKT_MEASURE_CEILINGS_H
#define TAKT_MEASURE_CEILINGS_H

#include <takt/system.h>

#include "base/json.h"
#include "kernel/kernel.h"
#include "os/cpu.h"
#include "os/pool.h"

/* Where the loads run: on a pool of `threads`, or NULL for the calling thread alone. */
typedef struct takt_probe {
    takt_ctx *ctx;
    takt_pool *pool;
    int threads;
    void *memory; /* `bytes`, for streams; touched */
    size_t bytes;
    bool is_usual; /* streams: the median of tries, to compare medians with, not the best */
} takt_probe;

/* 10^9 operations per second by this kernel of a family "peak_…", on all threads at once. */
double takt_probe_peak(const takt_probe *p, const char *family, const takt_kernel *kernel);
/* 10^9 bytes per second, including those written, over `bytes` of memory per thread, by the best of
 * several loops; `add`: two arrays are read and a third is written. */
double takt_probe_read(const takt_probe *p, size_t bytes);
double takt_probe_copy(const takt_probe *p, size_t bytes);
double takt_probe_add(const takt_probe *p, size_t bytes);

/* Measures everything; no file is touched. */
TAKT_MUST_USE takt_status takt_ceilings_measure(takt_ctx *ctx, const takt_cpu_facts *facts,
                                                takt_ceilings *c);
/* Into and out of JSON: `{"fingerprint": …, "one": {…}, "all": {…}}`. */
void takt_ceilings_write(takt_json_writer *w, const takt_ceilings *c);
/* False if the text is not of that form. */
bool takt_ceilings_read(const takt_json *object, takt_ceilings *c);

/* The key "ceilings" of a result's "system_info", and its contents. */
void takt_ceilings_info_write(takt_json_writer *w, const takt_ceilings *c);
bool takt_ceilings_info_read(const takt_json *object, takt_ceilings *c);

/* The level, 0 to 3, that holds `bytes` of one thread's data. */
int takt_ceilings_level(const takt_ceilings *c, double bytes);
/* Bandwidth of that level, or of the next measured one; 0 if none was measured. */
double takt_ceilings_read_gbs(const takt_ceilings *c, int level, bool all_threads);

extern const char *const takt_level_names[TAKT_LEVELS]; /* "L1" … "DRAM" */

/* See takt_machine_fingerprint. */
void takt_fingerprint_of(const takt_cpu_facts *facts, char text[17]);
/* "neon+dotprod", "Linux 6.1". */
void takt_isa_text(char *to, size_t size);
void takt_system_text(char *to, size_t size);
/* Writes the members of "system_info" into an open object. */
void takt_machine_json(takt_json_writer *w, const takt_cpu_facts *facts, const takt_ceilings *c);
/* The peak of every instruction set that runs here, for every type; `all` may have one thread. */
void takt_isa_peaks_measure(const takt_probe *one, const takt_probe *all, takt_system_rates *r);
/* Their number. */
int takt_isa_peaks_here(void);
/* The key "peaks"; false if the list does not match this machine and build. */
void takt_isa_peaks_write(takt_json_writer *w, const takt_system_rates *r);
bool takt_isa_peaks_read(const takt_json *list, takt_system_rates *r);
/* Keys disk, network, thread_efficiency and peaks. */
void takt_system_rates_json(takt_json_writer *w, const takt_system_rates *r);

/* The resource that bounds a step. */
typedef enum takt_bound {
    TAKT_BOUND_UNKNOWN,
    TAKT_BOUND_OVERHEAD,
    TAKT_BOUND_COMPUTE,
    TAKT_BOUND_MEMORY, /* of some level */
} takt_bound;

#endif
