/* check.c - checks that the inference functions of structural ops share. */
#include "op/util/check.h"

#include "ir/cast_hint.h"

takt_status takt_check_axis(takt_infer *in, int64_t axis, int rank, int *out)
{
    return takt_axis(in, axis, rank, out) ? TAKT_OK : takt_error_class(TAKT_E_ATTR);
}

takt_status takt_check_list(takt_infer *in, int attr, int count, const char *what)
{
    const uint32_t got = in->attr[attr].count;
    const char *name = in->op->attrs[attr].name;
    if (got == 0 || got == (uint32_t)count)
        return TAKT_OK;
    takt_infer_fail(in, TAKT_E_ATTR, "%s has %u entries, but there are %d %s", name, got, count,
                    what);
    return takt_fail_hint(in->ctx, "give %d numbers, or leave %s out", count, name);
}

takt_status takt_check_range(takt_infer *in, int attr, int64_t min, int64_t max)
{
    const takt_attr *a = &in->attr[attr];
    const bool is_list = in->op->attrs[attr].type == TAKT_ATTR_I64S;
    const char *name = in->op->attrs[attr].name;
    for (uint32_t i = 0; i < (is_list ? a->count : 1); i++) {
        const int64_t v = is_list ? a->i64s[i] : a->i64;
        if (v < min)
            return takt_infer_fail(in, TAKT_E_ATTR, "%s must be at least %lld, got %lld", name,
                                   (long long)min, (long long)v);
        if (v > max)
            return takt_infer_fail(in, TAKT_E_ATTR, "%s must be at most %lld, got %lld", name,
                                   (long long)max, (long long)v);
    }
    return TAKT_OK;
}

takt_status takt_check_index(takt_infer *in, size_t input)
{
    return takt_infer_dtype(in, input, TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64), "i32 or i64");
}

takt_status takt_check_same_dtype(takt_infer *in, size_t a, size_t b)
{
    if (in->type[a]->dtype == in->type[b]->dtype)
        return TAKT_OK;
    char na[TAKT_INPUT_TEXT], nb[TAKT_INPUT_TEXT];
    takt_infer_fail(in, TAKT_E_DTYPE, "%s and %s have different element types",
                    takt_infer_input(in, a, na), takt_infer_input(in, b, nb));
    return takt_cast_hint(in->ctx, in->type[a]->dtype, in->type[b]->dtype);
}

takt_status takt_check_agree(takt_infer *in, takt_dim a, takt_dim b, bool *agree)
{
    *agree = a == b;
    if (*agree || (takt_dim_is_number(a) && takt_dim_is_number(b)))
        return TAKT_OK;
    const takt_status status = takt_dim_unify(in->dims, a, b);
    *agree = status == TAKT_OK;
    return status == TAKT_ERR_SHAPE ? TAKT_OK : status;
}

takt_status takt_check_dims(takt_infer *in, size_t a, int axis_a, size_t b, int axis_b)
{
    bool agree = false;
    TAKT_TRY(takt_check_agree(in, in->type[a]->dim[axis_a], in->type[b]->dim[axis_b], &agree));
    if (agree)
        return TAKT_OK;
    char na[TAKT_INPUT_TEXT], nb[TAKT_INPUT_TEXT];
    return takt_infer_fail(in, TAKT_E_SHAPE, "dimension %d of %s and %d of %s differ", axis_a,
                           takt_infer_input(in, a, na), axis_b, takt_infer_input(in, b, nb));
}

takt_status takt_check_shape(takt_infer *in, size_t input, const takt_type *want, const char *what)
{
    const takt_type *got = in->type[input];
    bool agree = got->rank == want->rank;
    for (int i = 0; agree && i < want->rank; i++)
        TAKT_TRY(takt_check_agree(in, got->dim[i], want->dim[i], &agree));
    if (agree)
        return TAKT_OK;
    char tg[TAKT_TYPE_TEXT], tw[TAKT_TYPE_TEXT], name[TAKT_INPUT_TEXT];
    takt_type shown = *want;
    shown.dtype = got->dtype;
    return takt_fail(in->ctx, TAKT_E_SHAPE, "%s: %s is %s, but %s needs %s", in->op->name,
                     takt_infer_input(in, input, name), takt_type_text(in->dims, got, tg), what,
                     takt_type_text(in->dims, &shown, tw));
}

takt_status takt_check_set_shape(takt_infer *in, int attr, takt_type *type)
{
    const takt_attr *a = &in->attr[attr];
    if (a->count > TAKT_MAX_RANK)
        return takt_fail(in->ctx, TAKT_E_RANK, "%s: %s has %u dimensions; at most %d are possible",
                         in->op->name, in->op->attrs[attr].name, a->count, TAKT_MAX_RANK);
    type->rank = (int)a->count;
    for (int i = 0; i < type->rank; i++)
        type->dim[i] = a->dims[i];
    return TAKT_OK;
}
