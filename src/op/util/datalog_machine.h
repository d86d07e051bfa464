/* datalog_machine.h - what the files that evaluate rules over sets of tuples share. */
#ifndef TAKT_OP_UTIL_DATALOG_MACHINE_H
#define TAKT_OP_UTIL_DATALOG_MACHINE_H

#include "op/util/datalog.h"

typedef struct takt_dl_set {
    const uint32_t *rows; /* of inputs: the caller's; of derived relations: `own` */
    uint32_t *own;
    uint64_t *table;     /* of derived relations: a row's key or hash; TAKT_DL_EMPTY: none */
    uint32_t *table_row; /* of more than two columns: which row */
    size_t arity, count, capacity, table_mask;
    size_t from, to; /* what the last round found */
} takt_dl_set;

/* Rows that agree in some columns. Those of a derived relation are chains, which grow; those of an
 * input lie side by side: bucket b from head[b] to head[b + 1]. */
typedef struct takt_dl_chains {
    const takt_dl_index *of;
    uint32_t *head; /* of chains: row + 1 */
    uint32_t *next; /* the same; of an input: the rows themselves */
} takt_dl_chains;

#define TAKT_DL_EMPTY UINT64_MAX

enum { TAKT_DL_BATCH = 64 };

typedef struct takt_dl_waiting {
    int relation;
    uint32_t row[TAKT_DL_ARITY];
    size_t at; /* in the table */
    uint64_t key;
} takt_dl_waiting;

typedef struct takt_dl_machine {
    const takt_dl_plan *plan;
    takt_dl_set set[TAKT_DL_RELATIONS];
    takt_dl_chains index[TAKT_DL_INDEXES];
    takt_dl_full full;
    const takt_dl_path *path;
    uint32_t value[TAKT_DL_VARIABLES];
    uint64_t bound; /* variables that have one */
    uint64_t left;  /* of the budget */
    takt_dl_waiting batch[TAKT_DL_BATCH];
    size_t batch_count;
    const takt_poll *poll;
} takt_dl_machine;

static inline uint64_t takt_dl_mix(uint64_t h, uint32_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

/* Of those columns alone. */
static inline size_t takt_dl_hash(const uint32_t *row, uint32_t columns)
{
    uint64_t h = 0;
    for (; columns != 0; columns &= columns - 1)
        h = takt_dl_mix(h, row[__builtin_ctz(columns)]);
    return (size_t)(h >> 16);
}

static inline uint32_t takt_dl_value(const takt_dl_machine *m, const takt_dl_term *t)
{
    return t->kind == TAKT_DL_NUMBER ? t->value : m->value[t->value];
}

static inline bool takt_dl_known(const takt_dl_machine *m, const takt_dl_term *t)
{
    return t->kind == TAKT_DL_NUMBER ||
           (t->kind == TAKT_DL_VARIABLE && (m->bound >> t->value & 1) != 0);
}

/* How the literal after a scan finds its rows: columns of the scanned row, or values that are known
 * before. What it reads is in no cache, and is prefetched for a block of rows at a time. */
typedef struct takt_dl_ahead {
    const takt_dl_chains *index;
    const takt_dl_set *next;
    size_t arity;              /* of scanned rows */
    int column[TAKT_DL_ARITY]; /* of the scanned row; -1: `key` has it */
    uint32_t key[TAKT_DL_ARITY];
} takt_dl_ahead;

enum { TAKT_DL_BLOCK = 32 };

/* For a scan of `l`, which is at `depth` of the path; false: there is nothing to prefetch. */
bool takt_dl_look(const takt_dl_machine *m, const takt_dl_literal *l, int depth, takt_dl_ahead *a);
/* Before `count` rows, at most TAKT_DL_BLOCK, are joined. */
void takt_dl_prefetch(const takt_dl_ahead *a, const uint32_t *rows, size_t count);

#endif
