/* state.c - a session's state by name: reading it, writing it, saving it to a file. */
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/size.h"
#include "io/weights/weights.h"
#include "ir/normal.h"

static size_t count_of(const takt_session *s)
{
    return s != NULL ? s->plan->graph->slot_count : 0;
}

size_t takt_session_state_count(const takt_session *s)
{
    return count_of(s);
}

/* Sizes are numbers: the plan was made for them. */
static void describe(const takt_session *s, size_t i, takt_desc *desc)
{
    const takt_type *type = &s->state[i].type;
    *desc = (takt_desc){
        .name = s->plan->graph->slots[i].name, .dtype = type->dtype, .rank = type->rank};
    for (int d = 0; d < type->rank; d++)
        desc->dims[d] = type->dim[d];
}

takt_status takt_session_state(const takt_session *s, size_t index, takt_desc *desc)
{
    if (desc != NULL)
        *desc = (takt_desc){.name = NULL};
    if (desc == NULL || index >= count_of(s))
        return TAKT_ERR_ARGUMENT;
    describe(s, index, desc);
    return TAKT_OK;
}

/* ---- one by name ---- */

/* Returns the count if there is none of that name. */
static size_t index_of(const takt_session *s, const char *name)
{
    size_t i = 0;
    while (i < count_of(s) && strcmp(s->plan->graph->slots[i].name, name) != 0)
        i++;
    return i;
}

static takt_status find(takt_session *s, const char *name, size_t *index)
{
    takt_nearest near = takt_nearest_to(name);
    *index = index_of(s, name);
    if (*index < count_of(s))
        return TAKT_OK;
    for (size_t i = 0; i < count_of(s); i++)
        takt_nearest_try(&near, s->plan->graph->slots[i].name);
    takt_error_set(&s->error, TAKT_E_NAME, "the session has no state called %s", name);
    if (near.best != NULL)
        return takt_error_hint(&s->error, "did you mean %.100s?", near.best);
    return takt_error_hint(&s->error, "it has %zu states; parameters of a plan are constants",
                           count_of(s));
}

/* Nothing else reads or writes the state meanwhile. */
static takt_status check_idle(takt_session *s)
{
    const bool is_shared_busy = s->shared != NULL && atomic_load(&s->shared->is_busy);
    if (atomic_load(&s->runner.phase) != TAKT_RUNNER_BUSY && !is_shared_busy)
        return TAKT_OK;
    return takt_error_set(&s->error, TAKT_E_STATE,
                          "a run is under way: wait for it before touching the state");
}

static takt_status check_view(takt_session *s, size_t at, const takt_tensor_view *v)
{
    takt_desc desc;
    const takt_desc *d = &desc;
    describe(s, at, &desc);
    bool same = v->dtype == d->dtype && v->rank == d->rank;
    for (int i = 0; same && i < d->rank; i++)
        same = v->dims[i] == d->dims[i];
    if (v->device != 0)
        return takt_error_set(&s->error, TAKT_E_DEVICE,
                              "state %s: the buffer lies in the memory of device %d", d->name,
                              (int)v->device);
    if (same && takt_view_is_dense(v))
        return TAKT_OK;
    char want[TAKT_TYPE_TEXT];
    takt_type_text(s->plan->graph->dims, &s->state[at].type, want);
    return takt_error_set(&s->error, TAKT_E_BINDING, "state %s is %s, the buffer is %s", d->name,
                          want, same ? "not dense" : "of another type or shape");
}

/* Failures of files and devices are recorded in the context, and copied to the session. */
static takt_status reported(takt_session *s, takt_status status)
{
    if (status != TAKT_OK)
        takt_error_copy(s->ctx, &s->error);
    return status;
}

static takt_status reach(takt_session *s, const char *function, const char *name, const void *view,
                         size_t *index)
{
    if (s == NULL)
        return TAKT_ERR_ARGUMENT;
    if (name == NULL || view == NULL)
        return takt_error_set(&s->error, TAKT_E_ARGUMENT, "%s: %s is NULL", function,
                              name == NULL ? "the name" : "the view");
    TAKT_TRY(check_idle(s));
    TAKT_TRY(takt_session_has_state(s));
    return find(s, name, index);
}

takt_status takt_session_state_get(takt_session *s, const char *name, takt_tensor_view *view)
{
    size_t i = 0;
    takt_desc desc;
    TAKT_TRY(reach(s, "takt_session_state_get", name, view, &i));
    if (view->data == NULL) {
        describe(s, i, &desc);
        *view = (takt_tensor_view){.dtype = desc.dtype, .rank = desc.rank};
        memcpy(view->dims, desc.dims, sizeof desc.dims);
        return TAKT_OK;
    }
    TAKT_TRY(check_view(s, i, view));
    return reported(s, takt_slot_read(s->slots[i].shared, view->data));
}

takt_status takt_session_state_put(takt_session *s, const char *name, const takt_tensor_view *view)
{
    size_t i = 0;
    TAKT_TRY(reach(s, "takt_session_state_put", name, view, &i));
    if (view->data == NULL && takt_tensor_bytes(&s->state[i]) > 0)
        return takt_error_set(&s->error, TAKT_E_ARGUMENT, "state %s: the view has no data", name);
    TAKT_TRY(check_view(s, i, view));
    const size_t bytes = takt_tensor_bytes(&s->state[i]);
    const size_t bad = bytes > 0 ? takt_normal_check(&s->state[i].type, view->data, bytes) : 0;
    if (bad < bytes)
        return takt_error_set(&s->error, TAKT_E_BINDING, "state %s: " TAKT_NORMAL_BOOL, name, bad,
                              ((const uint8_t *)view->data)[bad]);
    return reported(s, takt_slot_write(s->slots[i].shared, view->data));
}

/* ---- all of it in a file ---- */

static takt_status begin_file(takt_session *s, const char *function, const char *path)
{
    if (path == NULL)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "%s: path is NULL", function);
    if (count_of(s) == 0)
        return takt_fail(s->ctx, TAKT_E_STATE, "%s: model %s has no state", path,
                         s->plan->graph->name);
    const takt_status status = check_idle(s);
    if (status != TAKT_OK)
        s->ctx->error = s->error;
    return status;
}

static takt_status save(takt_session *s, const char *path)
{
    void *block;
    const size_t count = count_of(s), each = sizeof(takt_named_tensor) + sizeof(takt_tensor);
    TAKT_TRY(begin_file(s, "takt_session_state_save", path));
    if (takt_session_has_state(s) != TAKT_OK) {
        s->ctx->error = s->error;
        return s->error.status;
    }
    TAKT_TRY(takt_mem_zero(s->ctx, count, each, "states", &block));
    takt_named_tensor *list = block;
    takt_tensor *values = (takt_tensor *)(void *)(list + count);
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < count && status == TAKT_OK; i++) {
        status = takt_session_look(s, i, &values[i]);
        list[i] = (takt_named_tensor){s->plan->graph->slots[i].name, &values[i]};
    }
    if (status == TAKT_OK)
        status = takt_weights_save(s->ctx, path, list, count, 0);
    for (size_t i = 0; i < count; i++)
        takt_tensor_release(&values[i]);
    takt_mem_put(s->ctx, block, count * each);
    return status;
}

typedef struct loader {
    takt_session *s;
    unsigned char *fresh; /* as takt_session_save_state has it */
    size_t *at;           /* per state: its offset in that */
    bool *has;            /* per state */
} loader;

static takt_status take(void *user, const char *file, const char *name, const takt_type *type,
                        const void *bytes)
{
    loader *l = user;
    takt_session *s = l->s;
    const size_t i = index_of(s, name);
    char got[TAKT_TYPE_TEXT], want[TAKT_TYPE_TEXT];
    if (i == count_of(s)) {
        takt_log(s->ctx, TAKT_LOG_INFO, "%s: %s is not a state of the session", file, name);
        return TAKT_OK;
    }
    takt_dims *dims = s->plan->graph->dims;
    if (!takt_type_same(dims, &s->state[i].type, type))
        return takt_fail(s->ctx, TAKT_E_WEIGHTS, "%s: state %s is %s, the session has %s", file,
                         name, takt_type_text(dims, type, got),
                         takt_type_text(dims, &s->state[i].type, want));
    if (l->has[i])
        return takt_fail(s->ctx, TAKT_E_WEIGHTS, "%s: state %s is there twice", file, name);
    l->has[i] = true;
    if (takt_tensor_bytes(&s->state[i]) > 0)
        memcpy(l->fresh + l->at[i], bytes, takt_tensor_bytes(&s->state[i]));
    return TAKT_OK;
}

static takt_status read_all(loader *l, const char *path)
{
    takt_session *s = l->s;
    TAKT_TRY(takt_weights_each(s->ctx, path, take, l));
    for (size_t i = 0; i < count_of(s); i++)
        if (!l->has[i])
            return takt_fail(s->ctx, TAKT_E_WEIGHTS, "%s: state %s is missing", path,
                             s->plan->graph->slots[i].name);
    return takt_session_restore_state(s, l->fresh);
}

static takt_status load(takt_session *s, const char *path)
{
    void *fresh, *tables = NULL;
    const size_t bytes = takt_session_state_bytes(s), count = count_of(s);
    TAKT_TRY(begin_file(s, "takt_session_state_load", path));
    TAKT_TRY(takt_mem_get(s->ctx, bytes, "states", &fresh));
    const size_t each = sizeof(size_t) + sizeof(bool);
    takt_status status = takt_mem_zero(s->ctx, count, each, "states", &tables);
    if (status == TAKT_OK) {
        size_t *at = tables;
        for (size_t i = 1; i < count; i++)
            at[i] = at[i - 1] + takt_round_up(takt_tensor_bytes(&s->state[i - 1]), TAKT_ALIGN);
        loader l = {s, fresh, at, (bool *)(at + count)};
        status = read_all(&l, path);
        takt_mem_put(s->ctx, tables, count * each);
    }
    takt_mem_put(s->ctx, fresh, bytes);
    return status;
}

takt_status takt_session_state_save(takt_session *s, const char *path)
{
    return s != NULL ? reported(s, save(s, path)) : TAKT_ERR_ARGUMENT;
}

takt_status takt_session_state_load(takt_session *s, const char *path)
{
    return s != NULL ? reported(s, load(s, path)) : TAKT_ERR_ARGUMENT;
}
