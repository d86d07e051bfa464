/* index.h - reading index tensors: negative ones count from the end, bad ones become faults. */
#ifndef TAKT_BACKEND_CPU_INDEX_H
#define TAKT_BACKEND_CPU_INDEX_H

#include "backend/cpu/cpu.h"

typedef struct takt_index_reader {
    const void *data;
    takt_dtype dtype; /* i64 or i32 */
    takt_fault fault;
} takt_index_reader;

static inline takt_index_reader takt_index_open(const takt_task *t, const takt_view *v)
{
    return (takt_index_reader){
        .data = takt_view_data(t, v), .dtype = v->dtype, .fault = {.index = TAKT_FAULT_NONE}};
}

/* Element `i` in [0, size); a bad one is recorded and read as 0 (of an empty dimension: -1). */
static inline int64_t takt_index_next(takt_index_reader *r, size_t i, int64_t size)
{
    const int64_t given =
        r->dtype == TAKT_I64 ? ((const int64_t *)r->data)[i] : ((const int32_t *)r->data)[i];
    const int64_t at = given < 0 ? given + size : given;
    if (at >= 0 && at < size)
        return at;
    takt_fault_note(&r->fault, i, given);
    return size > 0 ? 0 : -1;
}

/* Elements from `first` on: almost always all are valid, so they are checked without a branch. */
static inline void takt_index_list(takt_index_reader *r, size_t first, size_t count, int64_t size,
                                   int64_t *at)
{
    const int64_t *wide = (const int64_t *)r->data + first;
    const int32_t *narrow = (const int32_t *)r->data + first;
    uint64_t bad = 0;
    for (size_t i = 0; i < count && r->dtype == TAKT_I64; i++) {
        at[i] = wide[i] + (size & (wide[i] >> 63));
        bad |= (uint64_t)at[i] >= (uint64_t)size;
    }
    for (size_t i = 0; i < count && r->dtype != TAKT_I64; i++) {
        at[i] = narrow[i] + (size & ((int64_t)narrow[i] >> 63));
        bad |= (uint64_t)at[i] >= (uint64_t)size;
    }
    for (size_t i = 0; i < count && bad != 0; i++)
        at[i] = takt_index_next(r, first + i, size);
}

/* The start of a part of `part` elements in an axis of `size`, from element `i`; a start without
 * room for it is recorded as a fault and read as 0. */
static inline size_t takt_index_start(takt_index_reader *r, size_t i, size_t size, size_t part)
{
    const int64_t given =
        r->dtype == TAKT_I64 ? ((const int64_t *)r->data)[i] : ((const int32_t *)r->data)[i];
    const int64_t at = given < 0 ? given + (int64_t)size : given;
    if (at >= 0 && at <= (int64_t)(size - part))
        return (size_t)at;
    takt_fault_note(&r->fault, i, given);
    return 0;
}

static inline void takt_index_close(const takt_index_reader *r, const takt_task *t)
{
    if (r->fault.index != TAKT_FAULT_NONE && t->fault != NULL)
        takt_fault_merge(t->fault, &r->fault);
}

#endif
