/* elementwise.c - a scalar function applied to broadcast arrays. */
#include <inttypes.h>

#include "interp/run.h"

enum { MAX_INPUTS = 16 };

/* How to iterate over one input in the order of the output. */
typedef struct walker {
    const takt_array *array;
    size_t stride[TAKT_MAX_RANK]; /* 0 where the input is broadcast */
    size_t at;
} walker;

typedef struct work {
    takt_eval *e;
    takt_scalar scalar;
    walker in[MAX_INPUTS];
    int64_t index[TAKT_MAX_RANK];
} work;

bool takt_interp_has_scalar(const takt_op *op, takt_dtype in, takt_dtype out)
{
    const bool from_float = takt_dtype_is_float(in);
    if ((op->traits & TAKT_PREDICATE) != 0)
        return op->scalar_p != NULL || (!from_float && op->scalar_i != NULL);
    if (from_float)
        return op->scalar_f != NULL && takt_dtype_is_float(out);
    return op->scalar_i != NULL && !takt_dtype_is_float(out);
}

static void walker_init(walker *w, const takt_array *array, const takt_array *out)
{
    size_t stride = 1;
    *w = (walker){.array = array};
    for (int i = array->rank - 1; i >= 0; i--) {
        w->stride[out->rank - array->rank + i] = array->dim[i] == 1 ? 0 : stride;
        stride *= (size_t)array->dim[i];
    }
}

/* Advances to the next element of the output. */
static void advance(work *w)
{
    const takt_array *out = &w->e->out[0];
    for (int d = out->rank - 1; d >= 0; d--) {
        const bool wraps = ++w->index[d] == out->dim[d];
        for (size_t k = 0; k < w->e->in_count; k++) {
            walker *in = &w->in[k];
            in->at += in->stride[d];
            if (wraps)
                in->at -= in->stride[d] * (size_t)out->dim[d];
        }
        if (!wraps)
            return;
        w->index[d] = 0;
    }
}

static double load_f(const walker *w)
{
    const takt_array *a = w->array;
    return a->f != NULL ? a->f[w->at] : takt_dtype_to_double(a->dtype, a->i[w->at]);
}

static void apply_f(work *w, size_t k)
{
    const takt_op *op = w->e->node->op;
    double x[MAX_INPUTS];
    for (size_t i = 0; i < w->e->in_count; i++)
        x[i] = load_f(&w->in[i]);
    if ((op->traits & TAKT_PREDICATE) != 0)
        w->e->out[0].i[k] = op->scalar_p(&w->scalar, x);
    else
        w->e->out[0].f[k] = op->scalar_f(&w->scalar, x);
}

static void apply_i(work *w, size_t k)
{
    int64_t x[MAX_INPUTS];
    for (size_t i = 0; i < w->e->in_count; i++)
        x[i] = w->in[i].array->i[w->in[i].at];
    w->e->out[0].i[k] = w->e->node->op->scalar_i(&w->scalar, x);
}

takt_status takt_interp_elementwise(takt_eval *e)
{
    const takt_op *op = e->node->op;
    work w = {.e = e, .scalar = {.attr = e->attr, .dtype = e->in[0].dtype}};
    if (e->in_count > MAX_INPUTS)
        return takt_fail(e->ctx, TAKT_E_INTERNAL, "%s: an element-wise op of %zu inputs", op->name,
                         e->in_count);
    for (size_t i = 0; i < e->in_count; i++)
        walker_init(&w.in[i], &e->in[i], &e->out[0]);
    const bool is_integer = !takt_dtype_is_float(e->in[0].dtype) && op->scalar_i != NULL;
    for (size_t k = 0; k < e->out[0].count && !takt_eval_stops(e, 2); k++) {
        if (is_integer)
            apply_i(&w, k);
        else
            apply_f(&w, k);
        if (w.scalar.fault && is_integer)
            return takt_fail(e->ctx, TAKT_E_DIVIDE,
                             "%s: element %zu: %" PRId64 " is divided by zero", op->name, k,
                             e->in[0].i[w.in[0].at]);
        advance(&w);
    }
    return TAKT_OK;
}
