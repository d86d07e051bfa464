/* unique.c - distinct rows: first position of each, index of each row's distinct row, and
 * counts. */
#include "op/util/unique.h"

#include <math.h>

#include "op/util/check.h"

enum { AXIS, SORTED };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    takt_dim count = 1;
    int axis = 0;
    if (in->attr[AXIS].is_set) {
        TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
        count = x->dim[axis];
    }
    for (int d = 0; !in->attr[AXIS].is_set && d < x->rank; d++)
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, count, x->dim[d], &count));
    for (int i = 0; i < 3; i++)
        in->out[i] = (takt_type){.dtype = TAKT_I64, .rank = 1, .dim = {count}};
    in->out[3] = (takt_type){.dtype = TAKT_I64, .rank = 1, .dim = {1}};
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    const takt_attr *given = &e->attr[AXIS];
    const int axis = (int)(given->i64 < 0 ? given->i64 + x->rank : given->i64);
    takt_unique u = {.f = x->f,
                     .i = x->i,
                     .is_unsigned = x->dtype == TAKT_U64,
                     .count = (size_t)e->out[1].dim[0],
                     .outer = 1,
                     .inner = 1,
                     .is_sorted = e->attr[SORTED].boolean};
    takt_found_rows f = {.first = e->out[0].i, .of = e->out[1].i, .times = e->out[2].i};
    for (int d = 0; given->is_set && d < x->rank; d++)
        if (d != axis)
            *(d < axis ? &u.outer : &u.inner) *= (size_t)x->dim[d];
    void *memory = takt_arena_array(e->scratch, takt_unique_bytes(u.count), 1);
    if (memory == NULL)
        return TAKT_ERR_MEMORY;
    takt_unique_find(&u, memory, &f);
    e->out[3].i[0] = (int64_t)f.count;
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *x = takt_type_of(g, n->in[0]);
    size_t count = 0, bytes = 0;
    (void)takt_type_count(x, &count);
    (void)takt_type_bytes(x, &bytes);
    cost->flops = 4 * (double)count * log2((double)count + 2);
    cost->bytes = (double)bytes + 24 * (double)n->type[0].dim[0];
}

const takt_op takt_op_unique = {
    .name = "unique",
    .summary = "rows that differ: where each is first, zeros after them; which one every row is; "
               "how often each comes, zeros after them; and how many they are",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .out_count = 4,
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .is_optional = true,
                        .summary = "along which rows lie; left out: every element is one"},
              [SORTED] = {.name = "sorted",
                          .type = TAKT_ATTR_BOOL,
                          .fallback.boolean = true,
                          .summary = "in the order of their values; else as they come"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_COMPUTE,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .no_gradient = "its results are places",
    .no_bound = "places are not followed",
    .samples = {"unique(i8[9] in (0, 3))", "unique(f32[4, 2] in (0, 1), axis=0, sorted=false)",
                "unique(i64[2, 3] in (0, 1), axis=1)", "unique(u64[0])"},
};
