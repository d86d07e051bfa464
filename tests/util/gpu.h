/* gpu.h - a CUDA driver of the tests: memory is counted, kernels run on fibers (grid.h).
 *
 * Device memory has red zones that are checked when it is freed, and is initialised with NaN.
 * Graphs are lists that launch in order. Every call is counted; one of them, or all from one on,
 * can be made to fail. One driver at a time.
 */
#ifndef TAKT_TESTS_UTIL_GPU_H
#define TAKT_TESTS_UTIL_GPU_H

#include "backend/cuda/device.h"
#include "util/grid.h"

typedef struct gpu_settings {
    int driver;         /* 13000; 0: that */
    int devices;        /* how many are visible; 0: one, -1: none */
    int capability;     /* 90; 0: that */
    int init_result;    /* of cuInit */
    size_t memory;      /* bytes of a device; 0: 4 GiB */
    uint64_t fail_call; /* the call that fails, counted from 1; 0: none */
    int fail_result;    /* how */
    bool fail_ever;     /* and all after it do, too: a device that was lost */
    grid_order order;   /* of threads */
    bool is_late;       /* graphs run when a caller waits */
    void *stream;       /* of the caller's: graphs that go there are counted */
    bool is_slow;       /* a step is estimated to take 0.7 ms */
} gpu_settings;

typedef struct gpu_counts {
    uint64_t calls, launches, graph_launches, graphs_made;
    uint64_t together;             /* cooperative launches */
    uint64_t up_bytes, down_bytes; /* of copies in graphs and outside */
    uint64_t streamed;             /* graphs that went to a stream which is not ours */
    size_t live_bytes, peak_bytes, pinned_bytes;
    int live_objects;  /* streams, events, graphs, modules, contexts */
    const char *wrong; /* the mistake of a kernel or a caller; NULL: none */
} gpu_counts;

/* Starts again; the table is valid until the next call. */
const takt_cuda_driver *gpu_driver(const gpu_settings *settings);
gpu_counts gpu_count(void);
/* Changes what fails while objects exist. */
void gpu_fail(uint64_t in_calls, int result, bool is_for_ever);

/* The next graph starts but never ends: its wait fails, and so does every later call. */
void gpu_lose_in_graph(void);
/* Graphs begin from now on and never end, and the driver reports no error. */
void gpu_get_stuck(void);
/* Memory of a device that another library has; its contents can be read and written directly. */
void *gpu_foreign(size_t bytes, int ordinal);
void gpu_foreign_put(void *data);
/* Makes another library's context current on this thread; returns the current one. */
void gpu_enter_other(void *context);
void *gpu_current(void);

/* The cuda backend over this driver, called "gpu", for takt_backend_add. */
const takt_backend *gpu_backend(void);

#endif
