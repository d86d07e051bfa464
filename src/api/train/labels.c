/* labels.c - labels as the loss takes them: [n] for an output of [n, 1], whole numbers as floats.
 *
 * A column of ages is read as whole numbers and may be classes or amounts: only the loss knows. */
#include "api/session/session.h"
#include "api/train/trainer.h"
#include "ir/dtype.h"

/* An axis of one element at the end is added or taken away. */
static void fit_rank(const takt_desc *desc, takt_tensor_view *v)
{
    if (v->rank + 1 == desc->rank && desc->dims[v->rank] == 1) {
        v->strides[v->rank] = takt_view_is_dense(v) ? 0 : 1;
        v->dims[v->rank++] = 1;
    } else if (v->rank == desc->rank + 1 && v->dims[v->rank - 1] == 1) {
        v->strides[--v->rank] = 0;
    }
}

static bool has_same_sizes(const takt_desc *a, const takt_tensor_view *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = a->dims[d] == b->dims[d];
    return same;
}

/* The session's own memory, which is kept: a step allocates nothing. */
static takt_status convert(takt_session *s, size_t input, const takt_desc *desc,
                           takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    TAKT_TRY(takt_session_own(s, TAKT_PLACE_INPUT, input));
    void *to = takt_session_input(s, input)->data;
    for (size_t i = 0; i < count; i++) {
        const double number = (double)takt_dtype_get_i(v->dtype, v->data, i);
        takt_dtype_put_f(desc->dtype, to, i, takt_dtype_round(desc->dtype, number));
    }
    v->data = to;
    v->dtype = desc->dtype;
    return TAKT_OK;
}

takt_status takt_train_labels(takt_session *s, size_t input, takt_tensor_view *v)
{
    const takt_desc *desc = takt_session_input_desc(s, input);
    fit_rank(desc, v);
    const bool is_number = takt_dtype_is_float(desc->dtype) && takt_dtype_is_int(v->dtype) &&
                           v->data != NULL && v->device == 0;
    if (!is_number || !has_same_sizes(desc, v) || !takt_view_is_dense(v))
        return TAKT_OK; /* whatever does not fit is refused when it is bound */
    return convert(s, input, desc, v);
}
