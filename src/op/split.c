/* split.c - splits an axis into parts; the inverse of concat. */
#include "op/util/check.h"

enum { AXIS, SIZES };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    const takt_attr *sizes = &in->attr[SIZES];
    int axis = 0;
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
    if (sizes->count == 0 || sizes->count > TAKT_MAX_OUTPUTS)
        return takt_fail(in->ctx, TAKT_E_ATTR, "split: sizes has %u entries; 1 to %d are possible",
                         sizes->count, TAKT_MAX_OUTPUTS);
    TAKT_TRY(takt_check_range(in, SIZES, 0, INT64_MAX));
    takt_dim total = 0;
    for (uint32_t i = 0; i < sizes->count; i++) {
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_ADD, total, sizes->i64s[i], &total));
        in->out[i] = *x;
        in->out[i].dim[axis] = sizes->i64s[i];
    }
    bool agree = false;
    TAKT_TRY(takt_check_agree(in, x->dim[axis], total, &agree));
    in->out_count = sizes->count;
    if (agree)
        return TAKT_OK;
    char type[TAKT_TYPE_TEXT];
    return takt_fail(in->ctx, TAKT_E_SHAPE,
                     "split: the sizes add up to %lld, but x is %s and is "
                     "split along axis %d",
                     (long long)total, takt_type_text(in->dims, x, type), axis);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < n->out_count; i++) {
        const int64_t size = n->attr[SIZES].i64s[i];
        out[i] = takt_slice(g, n->in[0], n->attr[AXIS].i64, offset, offset + size, 1);
        offset += size;
    }
}

const takt_op takt_op_split = {
    .name = "split",
    .summary = "the parts of an axis, one result each",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis to split"},
              [SIZES] = {.name = "sizes",
                         .type = TAKT_ATTR_I64S,
                         .is_required = true,
                         .summary = "size of each part; they add up to the axis"}},
    .traits = TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .lower = lower,
    .samples = {"split(f32[7, 2], sizes=[3, 4])", "split(f64[2, 6], axis=-1, sizes=[1, 2, 3])",
                "split(i32[2, 3], axis=1, sizes=[3])"},
};
