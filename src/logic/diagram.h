/* diagram.h - Boolean functions of events as ordered decision diagrams; each function is stored
 * once.
 *
 * A variable has two values, false and true, or one for each event of a row of mutually exclusive
 * events. A node tests one variable and has a child for each of its values; variables are tested in
 * order of creation. Equal functions are equal handles. */
#ifndef TAKT_LOGIC_DIAGRAM_H
#define TAKT_LOGIC_DIAGRAM_H

#include "base/arena.h"

typedef uint32_t takt_dd; /* a function */
enum { TAKT_DD_FALSE, TAKT_DD_TRUE };
/* Larger diagrams are of no practical use. */
enum { TAKT_DD_NODES = 1000000 };

typedef enum takt_dd_op { TAKT_DD_AND, TAKT_DD_OR, TAKT_DD_XOR } takt_dd_op;

typedef struct takt_dd_node {
    uint32_t variable, first; /* where its children begin */
} takt_dd_node;

typedef struct takt_dd_known {
    takt_dd a, b, result;
    uint32_t op; /* + 1; 0: empty */
} takt_dd_known;

typedef struct takt_dd_frame takt_dd_frame;

typedef struct takt_dds {
    takt_arena *arena;
    takt_status status; /* sticky; TAKT_ERR_LIMIT: too many nodes. Then everything is false. */
    takt_dd_node *nodes;
    size_t count, capacity;
    takt_dd *children;
    size_t child_count, child_capacity;
    uint32_t *table; /* of nodes, open addressing; 0: none */
    size_t table_size;
    uint32_t *values; /* number of values, per variable */
    size_t variable_count, variable_capacity;
    takt_dd_known *known; /* results of `apply`, the last of each place */
    size_t known_size;
    takt_dd_frame *frames;
    size_t frame_capacity;
    takt_dd *room; /* children of nodes being made */
    size_t room_capacity;
} takt_dds;

void takt_dds_init(takt_dds *d, takt_arena *arena);
/* A variable with this many values, ordered after all existing ones. */
uint32_t takt_dd_variable(takt_dds *d, uint32_t values);
/* The function that is true where the variable has that value. */
takt_dd takt_dd_is(takt_dds *d, uint32_t variable, uint32_t value);
takt_dd takt_dd_apply(takt_dds *d, takt_dd_op op, takt_dd a, takt_dd b);

static inline takt_dd takt_dd_and(takt_dds *d, takt_dd a, takt_dd b)
{
    return takt_dd_apply(d, TAKT_DD_AND, a, b);
}
static inline takt_dd takt_dd_or(takt_dds *d, takt_dd a, takt_dd b)
{
    return takt_dd_apply(d, TAKT_DD_OR, a, b);
}
static inline takt_dd takt_dd_not(takt_dds *d, takt_dd a)
{
    return takt_dd_apply(d, TAKT_DD_XOR, a, TAKT_DD_TRUE);
}

/* `op` of many operands: combined in pairs, then pairs of pairs, so that long chains are not
 * traversed repeatedly. */
enum { TAKT_DD_HEAP = 40 };
typedef struct takt_dd_fold {
    takt_dds *d;
    takt_dd_op op;
    takt_dd at[TAKT_DD_HEAP];
    uint64_t count;
} takt_dd_fold;
void takt_dd_fold_begin(takt_dd_fold *f, takt_dds *d, takt_dd_op op);
/* False once the result can no longer change. */
bool takt_dd_fold_add(takt_dd_fold *f, takt_dd a);
takt_dd takt_dd_fold_end(takt_dd_fold *f);

#endif
