/* cpu_dtypes.c - every op in every element type that its record names, on the cpu backend. */
#include "backend/graph_check.h"

static size_t done;

static void check(const takt_op *op, takt_dtype dtype, uint64_t seed)
{
    const takt_gen_options options = {.calls = 1, .op = op, .has_dtype = true, .dtype = dtype};
    char what[80];
    bool found = false;
    snprintf(what, sizeof what, "%s of %s", op->name, takt_dtype_name(dtype));
    graph_check(seed, &options, what, &found);
    EXPECT(found, "%s: the record names the type, but no sample can be in it", what);
    done++;
}

/* Ops with subgraphs take any type by passing it on; their bodies say which. Leaves have none. */
static bool is_free(const takt_op *op)
{
    return (op->traits & (TAKT_CONTROL | TAKT_LEAF)) == 0 && op->samples[0] != NULL &&
           op->in_max > 0;
}

int main(void)
{
    for (size_t i = 0; i < takt_op_count; i++)
        for (int d = 0; d < TAKT_DTYPE_COUNT; d++)
            if (is_free(takt_ops[i]) && (takt_ops[i]->dtypes & TAKT_IN(d)) != 0)
                check(takt_ops[i], (takt_dtype)d, 100 * i + (size_t)d);
    printf("%zu pairs of op and element type\n", done);
    return test_done();
}
