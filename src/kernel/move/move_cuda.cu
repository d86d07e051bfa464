/* move_cuda.cu - elements from one layout to another, rows of a table, and the end of a segment. */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"

DEVICE void copy_element(void *dst, int64_t to, const void *src, int64_t from, uint32_t bytes)
{
    switch (bytes) {
    case 1: ((uint8_t *)dst)[to] = ((const uint8_t *)src)[from]; break;
    case 2: ((uint16_t *)dst)[to] = ((const uint16_t *)src)[from]; break;
    case 4: ((uint32_t *)dst)[to] = ((const uint32_t *)src)[from]; break;
    default: ((uint64_t *)dst)[to] = ((const uint64_t *)src)[from]; break;
    }
}

KERNEL(takt_cuda_move, takt_cuda_move_args, TAKT_CUDA_MOVE_THREADS)
{
    uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    int64_t to = 0, from = 0;
    for (uint32_t d = ARG.dims; d-- > 0;) {
        const uint64_t rest = i / ARG.dim[d];
        const int64_t at = (int64_t)(i - rest * ARG.dim[d]);
        to += at * ARG.dst_stride[d];
        from += at * ARG.src_stride[d];
        i = rest;
    }
    copy_element(ARG.dst, to, ARG.src, from, ARG.bytes);
}

KERNEL(takt_cuda_gather, takt_cuda_gather_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.outer * ARG.count * ARG.inner)
        return;
    const uint64_t column = i % ARG.inner, row = i / ARG.inner;
    const uint64_t j = row % ARG.count, o = row / ARG.count;
    const int64_t size = (int64_t)ARG.axis;
    int64_t at = ARG.is_narrow ? ((const int32_t *)ARG.index)[j] : ((const int64_t *)ARG.index)[j];
    at = at < 0 ? at + size : at;
    if (at < 0 || at >= size) {
        if (column == 0 && o == 0)
            least(ARG.fault, j);
        at = 0;
    }
    copy_element(ARG.dst, (int64_t)i, ARG.src,
                 (int64_t)((o * ARG.axis + (uint64_t)at) * ARG.inner + column), ARG.bytes);
}

LATE_KERNEL(takt_cuda_done, takt_cuda_done_args, 32)
{
    /* Only this kernel writes the number, and the run before has ended: it is read while the last
     * step still computes. */
    const uint32_t run = *ARG.run + 1;
    BEGIN();
    if (ARG.fault_count > 0) {
        for (uint32_t i = LANE; i < ARG.fault_count; i += LANES) {
            if (ARG.faults[i] == UINT64_MAX)
                continue; /* a piece before this one may have had one */
            ARG.faults_seen[i] = ARG.faults[i];
            ARG.faults[i] = UINT64_MAX;
        }
        publish();
        SYNC();
    }
    /* No other data needs publishing: outputs reach the host through copy nodes, which have ended. A
     * kernel that wrote pinned memory itself would need a fence before this flag. */
    if (LANE == 0) {
        *ARG.run = run;
        *ARG.seen = run;
    }
}
