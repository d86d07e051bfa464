/* not_finite.c - where the first NaN or infinity of a step comes from.
 *
 * A step whose loss is not finite has changed no state, so it can be repeated with a check of every
 * result. Negative infinity by itself does not count: masks use it.
 */
#include <math.h>
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"

typedef struct search {
    const takt_session *session;
    const char *found; /* the name of a step; NULL: none so far */
} search;

static bool is_bad(double value)
{
    return !isfinite(value) && !(value < 0);
}

/* The first bad element of a row-major block; `count` if there is none. */
static size_t first_bad(takt_dtype dtype, const void *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_bad(takt_dtype_get_f(dtype, data, i)))
            return i;
    return count;
}

/* ---- results of steps ---- */

static bool has_bad(const takt_view *v, const unsigned char *base, int axis, size_t at)
{
    if (axis == v->rank)
        return is_bad(takt_dtype_get_f(v->dtype, base + v->offset, at));
    for (int64_t i = 0; i < v->dim[axis]; i++)
        if (has_bad(v, base, axis + 1, at + (size_t)(i * v->stride[axis])))
            return true;
    return false;
}

static void before(void *user, size_t step)
{
    (void)user;
    (void)step;
}

static void after(void *user, size_t step)
{
    search *s = user;
    const takt_step *at = &s->session->plan->steps[step];
    if (s->found != NULL || at->space != TAKT_HOST || at->node_count == 0)
        return;
    for (size_t i = 0; i < at->out_count; i++) {
        const void *base = s->session->base[at->out[i].buffer];
        if (base != NULL && takt_dtype_is_float(at->out[i].dtype) &&
            has_bad(&at->out[i], base, 0, 0))
            s->found = at->name;
    }
}

static const char *find_step(takt_trainer *t)
{
    search s = {.session = t->step.session};
    const takt_watch watch = {.before = before, .after = after, .user = &s};
    t->step.session->watch = &watch;
    const takt_status status = takt_session_run(t->step.session);
    t->step.session->watch = NULL;
    return status == TAKT_OK ? s.found : NULL;
}

/* ---- its inputs ---- */

static bool is_dense(const takt_tensor_view *v)
{
    for (int i = 0; i < v->rank; i++)
        if (v->strides[i] != 0)
            return false;
    return true;
}

/* The first input of the model that is not finite, and its sample; -1: it has none. */
static bool find_sample(const takt_trainer *t, const takt_named_view *batch, size_t count,
                        takt_rows rows, const char **input, int64_t *sample)
{
    const takt_model *m = t->step.model;
    for (size_t i = 0; i < m->graph->input_count; i++) {
        const takt_named_view *given = takt_batch_find(batch, count, m->inputs[i].name, i);
        const takt_tensor_view *v = given != NULL ? &given->view : NULL;
        if (v == NULL || !takt_dtype_is_float(v->dtype) || v->data == NULL || !is_dense(v))
            continue;
        const bool has_samples = v->rank > 0 && takt_batch_is_cut(t, &m->inputs[i]);
        size_t size = 1, first = 0, all = 1;
        for (int k = has_samples; k < v->rank; k++)
            size *= (size_t)v->dims[k];
        if (has_samples && v->dims[0] > rows.rows)
            first = (size_t)rows.first;
        if (has_samples)
            all = rows.rows > 0 ? first + (size_t)rows.rows : (size_t)v->dims[0];
        for (size_t at = first * size; at < all * size; at++)
            if (!isfinite(takt_dtype_get_f(v->dtype, v->data, at))) {
                *input = m->inputs[i].name;
                *sample = has_samples ? (int64_t)(at / size) : -1;
                return true;
            }
    }
    return false;
}

static const char *find_weight(const takt_trainer *t)
{
    const takt_graph *g = t->step.model->graph;
    for (size_t i = 0; i < g->slot_count; i++) {
        takt_tensor value;
        if (!takt_dtype_is_float(g->slots[i].type.dtype) ||
            takt_train_slot(t, g->slots[i].name, &value) != TAKT_OK)
            continue;
        bool is_found = false;
        if (value.storage != NULL) {
            const size_t count =
                takt_tensor_bytes(&value) * 8 / (size_t)takt_dtype_bits(value.type.dtype);
            is_found = first_bad(value.type.dtype, takt_tensor_data(&value), count) < count;
            takt_tensor_release(&value);
        }
        if (is_found)
            return g->slots[i].name;
    }
    return NULL;
}

takt_status takt_train_not_finite(takt_trainer *t, const takt_named_view *batch, size_t count,
                                  takt_rows rows, double loss)
{
    const unsigned long long step = t->steps + 1;
    const char *what = isnan(loss) ? "NaN" : "infinite", *name;
    int64_t sample;
    if (find_sample(t, batch, count, rows, &name, &sample)) {
        if (sample < 0)
            return takt_fail(t->ctx, TAKT_E_TRAIN_NOT_FINITE,
                             "the loss of step %llu is %s: %s is not finite", step, what, name);
        takt_fail(t->ctx, TAKT_E_TRAIN_NOT_FINITE,
                  "the loss of step %llu is %s: %s of sample %lld of the batch is not finite", step,
                  what, name, (long long)sample);
        return takt_fail_hint(t->ctx, "takt data lists the samples that are not finite");
    }
    name = find_weight(t);
    if (name != NULL) {
        takt_fail(t->ctx, TAKT_E_TRAIN_NOT_FINITE,
                  "the loss of step %llu is %s: %s was not finite before the step", step, what,
                  name);
        return takt_fail_hint(t->ctx, "an earlier gradient was not finite: lower the learning "
                                      "rate, or skip such steps (--on-nan skip)");
    }
    name = find_step(t);
    takt_fail(t->ctx, TAKT_E_TRAIN_NOT_FINITE, "the loss of step %llu is %s%s%s", step, what,
              name != NULL ? ": the first result that is not finite is that of " : "",
              name != NULL ? name : "");
    return takt_fail_hint(t->ctx, "lower the learning rate, clip gradients, or skip such steps "
                                  "(--on-nan skip)");
}
