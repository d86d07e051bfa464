/* datalog_machine.h - shared by the files that evaluate rules over sets of tuples. */
#ifndef TAKT_OP_UTIL_DATALOG_MACHINE_H
#define TAKT_OP_UTIL_DATALOG_MACHINE_H

#include <stdatomic.h>

#include "op/util/datalog.h"

typedef struct takt_dl_set {
    const uint32_t *rows; /* of inputs: the caller's; of derived relations: `own` */
    uint32_t *own;
    uint64_t *table;     /* of derived relations: a row's key or hash; TAKT_DL_EMPTY: none */
    uint32_t *table_row; /* of more than two columns: which row */
    size_t arity, count, capacity, table_mask;
    size_t mask_limit; /* of the planned table */
    size_t first;      /* first row of the table: it holds those of one value of the pivot */
    size_t from, to;   /* rows of the last round */
    uint64_t linked;   /* indexes of it that grow: a set */
    uint64_t *bits;    /* of pairs of small values, instead of the table; NULL: none */
    size_t bit_rows, bit_words; /* words for each value of the first column */
    bool is_locked; /* workers add rows one after another: too few slots, or keys are hashes */
} takt_dl_set;

/* Rows that agree in some columns. Those of a derived relation form chains, which grow; those of an
 * input are contiguous: bucket b from head[b] to head[b + 1]. */
typedef struct takt_dl_chains {
    const takt_dl_index *of;
    bool is_direct;       /* of one column: its values are the buckets */
    uint32_t size;        /* buckets: the planned number, or the values that occur */
    uint32_t *head;       /* of chains: row + 1 */
    uint32_t *next;       /* the same; of an input: room for its rows */
    const uint32_t *rows; /* of an input: rows by bucket */
} takt_dl_chains;

#define TAKT_DL_EMPTY UINT64_MAX

enum { TAKT_DL_BATCH = 64, TAKT_DL_MARKS = 4096 };

/* Minimum rows of a derived relation for threads to share the work; buckets of a shared sort. */
enum { TAKT_DL_LARGE = 1 << 14, TAKT_DL_BUCKETS = 256 };

typedef struct takt_dl_waiting {
    int relation;
    uint32_t row[TAKT_DL_ARITY];
    size_t at; /* in the table */
    uint64_t key;
} takt_dl_waiting;

/* Shared by workers while they derive rows. */
typedef struct takt_dl_shared {
    _Atomic size_t count[TAKT_DL_RELATIONS];    /* rows of derived relations */
    _Atomic uint32_t locked[TAKT_DL_RELATIONS]; /* 1: a worker adds rows */
    _Atomic uint32_t is_over;                   /* a worker failed; the others stop */
    _Atomic size_t seed;                        /* with a pivot: the first unclaimed seed */
} takt_dl_shared;

/* Seeds whose rows do not fit a worker's scratch. */
enum { TAKT_DL_SKIPPED = 256 };
typedef struct takt_dl_skipped {
    size_t count;
    struct {
        size_t first, end;
    } at[TAKT_DL_SKIPPED];
} takt_dl_skipped;

typedef struct takt_dl_machine {
    const takt_dl_plan *plan;
    takt_dl_set set[TAKT_DL_RELATIONS];
    takt_dl_chains index[TAKT_DL_INDEXES];
    takt_dl_full full;
    const takt_dl_path *path;
    uint32_t value[TAKT_DL_VALUES];
    uint64_t left;            /* of the budget */
    size_t unpolled;          /* rows since the last poll */
    int pivot;                /* -1: none */
    int path_first, path_end; /* of the recursive rules */
    bool is_local;            /* there is a pivot: tables are small and grow; no batches */
    takt_dl_waiting *batch;   /* TAKT_DL_BATCH of them */
    size_t batch_count;
    /* For one filter and one value: which hashes have a row. */
    const takt_dl_step *marked_step;
    uint32_t marked_value;
    uint16_t mark, *marks; /* TAKT_DL_MARKS of them */
    const takt_poll *poll;
    takt_pool *pool;                 /* NULL: one thread */
    takt_dl_shared *shared;          /* of a worker; NULL: this thread derives single-threaded */
    struct takt_dl_machine *workers; /* of the plan; each a copy of this while rows are derived */
    takt_dl_shared *common;          /* state the workers will share */
    takt_dl_skipped *skipped;        /* of a worker */
    uint32_t *counts;                /* of a worker, for sorting: TAKT_DL_COUNTS */
    uint32_t *bucket_counts;         /* for sorting: plan->workers * TAKT_DL_BUCKETS */
    uint32_t *room, *room_counts;    /* until rules begin: room_words, TAKT_DL_COUNTS */
    size_t room_words;
} takt_dl_machine;

static inline uint64_t takt_dl_mix(uint64_t h, uint32_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

/* A hash of only those columns. */
static inline size_t takt_dl_hash(const uint32_t *row, uint32_t columns)
{
    uint64_t h = 0;
    for (; columns != 0; columns &= columns - 1)
        h = takt_dl_mix(h, row[__builtin_ctz(columns)]);
    return (size_t)(h >> 16);
}

/* The bucket of a row of the indexed relation. */
static inline size_t takt_dl_bucket(const takt_dl_chains *c, const uint32_t *row)
{
    if (c->is_direct)
        return row[__builtin_ctz(c->of->columns)];
    return takt_dl_hash(row, c->of->columns) & (c->size - 1);
}

/* The bucket of a value in an index of one column. The last has no rows. */
static inline size_t takt_dl_bucket_of(const takt_dl_chains *c, uint32_t value)
{
    if (c->is_direct)
        return value < c->size ? value : c->size;
    return (size_t)(takt_dl_mix(0, value) >> 16) & (c->size - 1);
}

/* Rows of one or two columns are their own keys. */
static inline uint64_t takt_dl_pair(uint32_t first, uint32_t second)
{
    return (uint64_t)first << 32 | second;
}

static inline size_t takt_dl_place(const takt_dl_set *s, uint64_t key)
{
    key *= UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)((key ^ key >> 29) >> 20) & s->table_mask;
}

/* The word and the bit of a pair in a set with bits. */
static inline uint64_t *takt_dl_word(const takt_dl_set *s, const uint32_t *pair)
{
    return &s->bits[pair[0] * s->bit_words + pair[1] / 64];
}
static inline uint64_t takt_dl_bit(const uint32_t *pair)
{
    return UINT64_C(1) << pair[1] % 64;
}

/* Sets the bit of a pair while other workers set bits; true: it is new. */
static inline bool takt_dl_claim_bit(const takt_dl_set *s, const uint32_t *pair)
{
    uint64_t *word = takt_dl_word(s, pair), bit = takt_dl_bit(pair);
    return (__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0 &&
           (__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit) == 0;
}

/* ---- datalog_plan.c ---- */

/* Whether the table of a relation, two slots for each row, is also room for sorting its rows. */
static inline bool takt_dl_sorts_in_table(size_t arity)
{
    return arity * sizeof(uint32_t) <= 2 * sizeof(uint64_t);
}
/* Words of the room that tables do not provide. */
size_t takt_dl_room_words(const takt_dl_plan *plan);

/* ---- datalog_bits.c ---- */

/* The largest value in inputs and rules, and hence in any row. */
uint32_t takt_dl_largest_value(const takt_dl_machine *m);
/* Gives bits to the derived relations that they suit, before any row is added. */
void takt_dl_bits_begin(takt_dl_machine *m);
/* Writes the rows of a set with bits in ascending order; TAKT_DL_BUCKETS counts. */
void takt_dl_bits_rows(takt_dl_machine *m, const takt_dl_set *s, uint32_t *counts);

/* ---- datalog_store.c ---- */

/* Polls; true: the run ends. */
bool takt_dl_stops(takt_dl_machine *m);
/* Sets memory in pieces, polling between them. */
void takt_dl_clear(takt_dl_machine *m, void *memory, int byte, size_t bytes);
/* The next block of scratch. */
void *takt_dl_carve(char **at, size_t count);
/* Relations and tables before the first round. */
void takt_dl_begin(takt_dl_machine *m, const uint32_t *const *in, uint32_t *const *out,
                   char **scratch);
/* Adds rows `first` to `end` - 1 of a derived relation to its indexes. */
void takt_dl_link(takt_dl_machine *m, const takt_dl_set *s, size_t first, size_t end);
/* Adds a row to a derived relation unless it exists; with `is_local` immediately, else in a
 * batch. */
void takt_dl_add(takt_dl_machine *m, int relation, const uint32_t *row);
/* A table of `mask` + 1 slots, with the same rows. */
void takt_dl_grow(takt_dl_set *s, size_t mask);
/* Adds the waiting batch. */
void takt_dl_flush(takt_dl_machine *m);
/* An empty table for rows from here on. */
void takt_dl_renew(takt_dl_set *s);

/* ---- datalog_index.c ---- */

/* The indexes, except number `unused`, whose memory is unchanged; those of inputs get all rows,
 * gathered by all threads. */
void takt_dl_begin_indexes(takt_dl_machine *m, int unused, char **scratch);

/* ---- datalog_join.c ---- */

/* Accounts for rows tried; false: the run ends. */
bool takt_dl_charge(takt_dl_machine *m, size_t rows);
/* Rows that the first literal of a path is matched with: true, with their range. False: the first
 * step finds them by an index. */
bool takt_dl_range(const takt_dl_machine *m, const takt_dl_path *path, size_t *first, size_t *end);
/* Joins along the path, only for rows `first` to `end` - 1 of its range, and adds the derived
 * tuples. */
void takt_dl_join(takt_dl_machine *m, const takt_dl_path *path, size_t first, size_t end);

/* ---- datalog_extend.c ---- */

/* Same as takt_dl_join, for the most common rule with a pivot: pairs of the last round, each joined
 * with the pairs of an input that share a value. False: the rule has another form. */
bool takt_dl_extend(takt_dl_machine *m, const takt_dl_path *path);

/* ---- datalog_run.c ---- */

/* Semi-naive rounds until nothing is new. */
void takt_dl_rounds(takt_dl_machine *m);
/* Rounds for all seeds from `first` to `end` - 1, a few values of the pivot at a time. */
typedef struct takt_dl_seeds {
    const uint32_t *rows; /* sorted by the pivot */
    size_t first, end;
    const takt_dl_rows *sort; /* where to write sorted rows; NULL: they stay where they are */
} takt_dl_seeds;
void takt_dl_follow(takt_dl_machine *m, const takt_dl_seeds *seeds);
/* Number of seeds to begin with next, after `taken` of them have led to `made` rows: as many as
 * give a table that fits the first-level cache. */
size_t takt_dl_width(size_t taken, size_t made);
/* Where a group of `width` seeds from `first` on ends: equal values stay in one group. */
size_t takt_dl_seeds_end(const takt_dl_machine *m, const takt_dl_seeds *seeds, size_t first,
                         size_t width);

/* ---- datalog_share.c: the same, multi-threaded ---- */

/* Scratch for the workers; also counted by takt_dl_worker_bytes. */
void takt_dl_hire(takt_dl_machine *m, char **scratch);
/* Adds it up; false: it is too large. */
bool takt_dl_worker_bytes(const takt_dl_plan *plan, size_t *total);
/* Makes every worker a copy of the machine, except for its private parts; returns their number. */
int takt_dl_brief(takt_dl_machine *m);
/* After they are done: collects their exit reasons, their rows, and the rest of the budget. */
void takt_dl_debrief(takt_dl_machine *m, int threads);
/* Tells the others if this worker has failed. */
void takt_dl_leave(takt_dl_machine *w);
/* All of a path. */
void takt_dl_join_shared(takt_dl_machine *m, const takt_dl_path *path);
void takt_dl_link_shared(takt_dl_machine *m, const takt_dl_set *s, size_t first, size_t end);
/* Adds the waiting batch to relations that other workers add to as well. */
void takt_dl_flush_shared(takt_dl_machine *m);
/* Rounds for all seeds: datalog_groups.c. True: the rows found are in `to`, unordered. False: they
 * are in the relation, sorted. */
bool takt_dl_follow_shared(takt_dl_machine *m, const uint32_t *seeds, size_t count, uint32_t *to);
/* Of datalog_sort_shared.c. Sorts `r->count` rows at `from`, which is `r->rows` or `r->room`, into
 * `r->rows`. False: the poll stopped it. */
bool takt_dl_sort_shared(takt_dl_machine *m, const takt_dl_rows *r, const uint32_t *from);

#endif
