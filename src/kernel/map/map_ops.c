/* map_ops.c - names and kinds of the element-wise operations. */
#include <string.h>

#include "kernel/map/map.h"

typedef struct row {
    const char *name;
    int operands;
    char result;
} row;

static const row rows[] = {
#define X(NAME, name, operands, result, what) {name, operands, #result[0]},
    TAKT_MAP_OPS(X)
#undef X
};

const char *takt_map_name(takt_map_op op)
{
    return op < TAKT_MAP_OP_COUNT ? rows[op].name : NULL;
}

takt_map_op takt_map_op_of(const char *name)
{
    unsigned op = 0;
    while (op < TAKT_MAP_OP_COUNT && /* most differ in their first letter */
           (rows[op].name[0] != name[0] || strcmp(rows[op].name, name) != 0))
        op++;
    return (takt_map_op)op;
}

int takt_map_operands(takt_map_op op)
{
    return op < TAKT_MAP_OP_COUNT ? rows[op].operands : 0;
}

bool takt_map_is_predicate(takt_map_op op)
{
    return op < TAKT_MAP_OP_COUNT && rows[op].result == 'B';
}
