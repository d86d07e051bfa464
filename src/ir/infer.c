/* infer.c - broadcasting, checks and messages that inference functions share. */
#include "ir/infer.h"

#include <stdarg.h>
#include <stdio.h>

const char *takt_infer_input(const takt_infer *in, size_t index,
                             char buffer[static TAKT_INPUT_TEXT])
{
    const size_t named = sizeof in->op->in_names / sizeof *in->op->in_names;
    if (index < named && in->op->in_names[index] != NULL)
        return in->op->in_names[index];
    if (in->in_count == 1)
        return "the input";
    snprintf(buffer, TAKT_INPUT_TEXT, "input %zu", index);
    return buffer;
}

/* "lhs is f32[4, 3], rhs is f32[5, 2]" at the end of `text`; cut if it does not fit. */
static void add_inputs(const takt_infer *in, char *text, size_t size, size_t at)
{
    char name[TAKT_INPUT_TEXT], type[TAKT_TYPE_TEXT];
    const char *between = ": ";
    for (size_t i = 0; i < in->in_count && at < size; i++) {
        if (in->in[i] == TAKT_NONE)
            continue;
        const int n =
            snprintf(text + at, size - at, "%s%s is %s", between, takt_infer_input(in, i, name),
                     takt_type_text(in->dims, in->type[i], type));
        at += n > 0 ? (size_t)n : 0;
        between = ", ";
    }
}

takt_status takt_infer_fail(takt_infer *in, takt_error_id id, const char *format, ...)
{
    char text[TAKT_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n >= 0)
        add_inputs(in, text, sizeof text, (size_t)n);
    return takt_fail(in->ctx, id, "%s: %s", in->op->name, text);
}

takt_status takt_infer_elementwise(takt_infer *in)
{
    takt_type out = *in->type[0];
    for (size_t i = 1; i < in->in_count; i++) {
        bool fits = true;
        TAKT_TRY(takt_type_broadcast(in->dims, &out, in->type[i], &fits));
        if (!fits) {
            (void)takt_infer_fail(in, TAKT_E_SHAPE, "the shapes do not broadcast");
            return takt_fail_hint(in->ctx, "aligned from the right, dimensions must be equal or 1; "
                                           "reshape or transpose one side");
        }
    }
    if ((in->op->traits & TAKT_PREDICATE) != 0)
        out.dtype = TAKT_BOOL;
    in->out[0] = out;
    return TAKT_OK;
}

takt_status takt_infer_dtype(takt_infer *in, size_t index, takt_dtype_set set, const char *words)
{
    char name[TAKT_INPUT_TEXT];
    const takt_dtype dtype = in->type[index]->dtype;
    if ((TAKT_IN(dtype) & set) != 0)
        return TAKT_OK;
    (void)takt_infer_fail(in, TAKT_E_DTYPE, "%s must be %s, not %s",
                          takt_infer_input(in, index, name), words, takt_dtype_name(dtype));
    return takt_fail_hint(in->ctx, "convert it with cast(x, dtype=...)");
}

takt_status takt_infer_rank(takt_infer *in, size_t index, int min, int max)
{
    char name[TAKT_INPUT_TEXT];
    const int rank = in->type[index]->rank;
    if (rank >= min && rank <= max)
        return TAKT_OK;
    if (min == max)
        return takt_infer_fail(in, TAKT_E_RANK, "%s must have rank %d, not %d",
                               takt_infer_input(in, index, name), min, rank);
    if (rank < min)
        return takt_infer_fail(in, TAKT_E_RANK, "%s must have rank %d or more, not %d",
                               takt_infer_input(in, index, name), min, rank);
    return takt_infer_fail(in, TAKT_E_RANK, "%s must have rank %d or less, not %d",
                           takt_infer_input(in, index, name), max, rank);
}

takt_status takt_infer_same_shape(takt_infer *in, size_t a, size_t b)
{
    const takt_type *x = in->type[a], *y = in->type[b];
    char first[TAKT_INPUT_TEXT], second[TAKT_INPUT_TEXT];
    bool same = x->rank == y->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = takt_dim_unify(in->dims, x->dim[i], y->dim[i]) == TAKT_OK;
    if (same)
        return TAKT_OK;
    return takt_infer_fail(in, TAKT_E_SHAPE, "%s and %s must have the same shape",
                           takt_infer_input(in, a, first), takt_infer_input(in, b, second));
}

takt_status takt_infer_fits(takt_infer *in, size_t index, const takt_type *shape)
{
    char name[TAKT_INPUT_TEXT], text[TAKT_TYPE_TEXT];
    const takt_type *x = in->type[index];
    takt_type whole = *shape;
    bool fits = x->rank <= shape->rank;
    if (fits)
        TAKT_TRY(takt_type_broadcast(in->dims, &whole, x, &fits));
    for (int i = 0; fits && i < shape->rank; i++)
        fits = takt_dim_same(in->dims, whole.dim[i], shape->dim[i]);
    if (fits)
        return TAKT_OK;
    return takt_infer_fail(in, TAKT_E_SHAPE, "%s must broadcast into %s",
                           takt_infer_input(in, index, name),
                           takt_type_text(in->dims, shape, text));
}

takt_status takt_infer_vector(takt_infer *in, size_t index, takt_dim size)
{
    char name[TAKT_INPUT_TEXT], text[TAKT_TYPE_TEXT];
    const takt_type *x = in->type[index];
    if (x->rank == 1 && takt_dim_unify(in->dims, x->dim[0], size) == TAKT_OK)
        return TAKT_OK;
    const takt_type want = {.dtype = x->dtype, .rank = 1, .dim = {size}};
    return takt_infer_fail(in, TAKT_E_SHAPE, "%s must be %s", takt_infer_input(in, index, name),
                           takt_type_text(in->dims, &want, text));
}

takt_status takt_infer_axes(takt_infer *in, const takt_attr *axes, int rank,
                            bool is_axis[static TAKT_MAX_RANK])
{
    for (int i = 0; i < TAKT_MAX_RANK; i++)
        is_axis[i] = false;
    for (uint32_t i = 0; i < axes->count; i++) {
        const int64_t axis = axes->i64s[i];
        if (axis < -rank || axis >= rank)
            return takt_infer_fail(in, TAKT_E_ATTR, "axis %lld is out of range for rank %d",
                                   (long long)axis, rank);
        const int at = (int)(axis < 0 ? axis + rank : axis);
        if (is_axis[at])
            return takt_infer_fail(in, TAKT_E_ATTR, "axis %d is listed twice", at);
        is_axis[at] = true;
    }
    return TAKT_OK;
}
