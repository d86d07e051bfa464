/* params.c - parameters and states of a model by name, without a file. */
#include <stdatomic.h>
#include <string.h>

#include <takt/weights.h>

#include "api/model.h"
#include "api/session/session.h"
#include "base/near.h"
#include "ir/edge_index.h"
#include "ir/normal.h"
#include "plan/basis.h"

size_t takt_model_param_count(const takt_model *m)
{
    return m != NULL ? m->graph->slot_count : 0;
}

takt_status takt_model_param(const takt_model *m, size_t index, takt_param *param)
{
    TAKT_NEED(NULL, m);
    TAKT_NEED(m->ctx, param);
    *param = (takt_param){.name = NULL};
    if (index >= m->graph->slot_count)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "model %s has %zu parameters and states, not %zu",
                         m->graph->name, m->graph->slot_count, index + 1);
    const takt_tensor *value = &m->slots[index];
    const takt_type *type = &m->graph->slots[index].type;
    param->name = m->graph->slots[index].name;
    param->is_trainable = m->graph->slots[index].is_trainable;
    param->value = (takt_tensor_view){.dtype = type->dtype, .rank = type->rank};
    for (int d = 0; d < type->rank; d++)
        param->value.dims[d] = value->storage != NULL ? value->type.dim[d] : -1;
    if (value->storage != NULL)
        param->value.data = takt_tensor_data(value);
    return TAKT_OK;
}

static takt_status find(const takt_model *m, const char *name, size_t *index)
{
    *index = takt_edge_find(m->graph, TAKT_EDGE_SLOT, name);
    if (*index != SIZE_MAX)
        return TAKT_OK;
    takt_nearest near = takt_nearest_to(name);
    for (size_t i = 0; i < m->graph->slot_count; i++)
        takt_nearest_try(&near, m->graph->slots[i].name);
    takt_fail(m->ctx, TAKT_E_NAME, "model %s has no parameter called %.200s", m->graph->name, name);
    if (near.best != NULL)
        return takt_fail_hint(m->ctx, "did you mean %.100s?", near.best);
    return takt_fail_hint(m->ctx, "it has %zu parameters and states", m->graph->slot_count);
}

static takt_status check(const takt_model *m, size_t at, const takt_tensor_view *v)
{
    const takt_type *type = &m->slots[at].type;
    const char *name = m->graph->slots[at].name;
    char want[TAKT_TYPE_TEXT];
    if (m->slots[at].storage == NULL)
        return takt_fail(m->ctx, TAKT_E_WEIGHTS,
                         "%s has no value so far: a dimension of it is a name", name);
    if (v->device != 0)
        return takt_fail(m->ctx, TAKT_E_DEVICE, "%s: the view lies in the memory of device %d",
                         name, (int)v->device);
    bool same = v->dtype == type->dtype && v->rank == type->rank;
    for (int d = 0; same && d < type->rank; d++)
        same = v->dims[d] == type->dim[d];
    if (!same || !takt_view_is_dense(v))
        return takt_fail(m->ctx, TAKT_E_WEIGHTS, "%s is %s, the view is %s", name,
                         takt_type_text(m->graph->dims, type, want),
                         same ? "not dense" : "of another type or shape");
    const size_t bytes = takt_tensor_bytes(&m->slots[at]);
    if (v->data == NULL && bytes > 0)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "%s: the view has no data", name);
    const size_t bad = bytes > 0 ? takt_normal_check(type, v->data, bytes) : bytes;
    if (bad < bytes)
        return takt_fail(m->ctx, TAKT_E_WEIGHTS, "%s: " TAKT_NORMAL_BOOL, name, bad,
                         ((const uint8_t *)v->data)[bad]);
    return TAKT_OK;
}

takt_status takt_model_param_put(takt_model *m, const char *name, const takt_tensor_view *value)
{
    size_t at = 0;
    takt_tensor fresh;
    TAKT_NEED(NULL, m);
    TAKT_NEED(m->ctx, name);
    TAKT_NEED(m->ctx, value);
    TAKT_TRY(find(m, name, &at));
    TAKT_TRY(check(m, at, value));
    TAKT_TRY(takt_tensor_create(m->ctx, &m->slots[at].type, &fresh)); /* plans hold the old one */
    if (takt_tensor_bytes(&fresh) > 0)
        memcpy(takt_tensor_data(&fresh), value->data, takt_tensor_bytes(&fresh));
    takt_tensor_release(&m->slots[at]);
    m->slots[at] = fresh;
    atomic_store_explicit(&m->key, 0, memory_order_relaxed);
    takt_basis_forget(m->ctx, &m->bases);
    return TAKT_OK;
}
