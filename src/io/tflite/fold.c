/* fold.c - values known during import: shapes, axes and their inputs. */
#include <string.h>

#include "base/mem.h"
#include "interp/interp.h"
#include "io/tflite/import.h"

/* Larger values are weights or data; shapes do not depend on all their elements. */
enum { BIG = 1 << 20 };

static takt_status make_room(takt_tfl_scope *s)
{
    const size_t need = s->g->count;
    size_t capacity = s->fact_count;
    if (need <= capacity)
        return TAKT_OK;
    void *facts = s->facts;
    const takt_status status = takt_mem_grow(s->im->ctx, &facts, &capacity, need, sizeof *s->facts);
    if (status != TAKT_OK)
        return status;
    s->facts = facts;
    memset(s->facts + s->fact_count, 0, (capacity - s->fact_count) * sizeof *s->facts);
    s->fact_count = capacity;
    return TAKT_OK;
}

static takt_array *arrays(takt_tfl_scope *s, size_t count)
{
    return takt_arena_array(&s->im->arena, count + 1, sizeof(takt_array));
}

static bool can_evaluate(takt_tfl_scope *s, const takt_node *n)
{
    double work = 0;
    if ((n->op->traits & (TAKT_UNIQUE | TAKT_LEAF | TAKT_CONTROL)) && n->op != &takt_op_iota)
        return false;
    for (uint32_t i = 0; i < n->in_count; i++)
        if (n->in[i] != TAKT_NONE && s->facts[n->in[i]].known == NULL)
            return false;
    for (uint32_t o = 0; o < n->out_count; o++) {
        size_t count;
        if (!takt_type_count(&n->type[o], &count) || count > BIG)
            return false;
        work += (double)count;
    }
    takt_cost cost = {0};
    if (n->op->cost != NULL)
        n->op->cost(s->g, n, &cost);
    work += cost.flops;
    if (!(work <= s->im->work))
        return false;
    s->im->work -= work;
    return true;
}

static takt_status evaluate(takt_tfl_scope *s, const takt_node *n, takt_tfl_fact *f)
{
    takt_array *in = arrays(s, n->in_count), *out = arrays(s, n->out_count);
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < n->in_count; i++)
        in[i] = n->in[i] == TAKT_NONE ? (takt_array){.rank = -1} : s->facts[n->in[i]].known[0];
    if (n->op == &takt_op_get) {
        out[0] = s->facts[n->in[0]].known[n->attr[0].i64];
        f->is_borrowed = true;
    } else {
        const takt_error before = s->im->ctx->error;
        const takt_status status = takt_interpret_node(s->im->ctx, s->g, n, in, out);
        if (status == TAKT_ERR_MEMORY)
            return status;
        if (status != TAKT_OK) {
            s->im->ctx->error = before; /* it will fail again, and be reported, when run */
            return TAKT_OK;
        }
    }
    f->known = out;
    f->count = n->out_count;
    return TAKT_OK;
}

static takt_status learn(takt_tfl_scope *s, takt_id id)
{
    const takt_node *n = takt_node_at(s->g, id);
    takt_tfl_fact *f = &s->facts[id];
    f->is_studied = true;
    if (n->op == &takt_op_constant && takt_tensor_count(n->attr[0].tensor) <= BIG) {
        takt_array *array = arrays(s, 1);
        if (array == NULL)
            return TAKT_ERR_MEMORY;
        TAKT_TRY(takt_array_from_tensor(s->im->ctx, n->attr[0].tensor, array));
        f->known = array;
        f->count = 1;
        return TAKT_OK;
    }
    return can_evaluate(s, n) ? evaluate(s, n, f) : TAKT_OK;
}

/* Nodes to fold: inputs before their readers. */
typedef struct waiting {
    takt_id *at;
    size_t count, capacity;
} waiting;

static takt_status wait_for(takt_tfl_scope *s, waiting *w, takt_id id)
{
    void *at = w->at;
    const takt_status status =
        takt_mem_grow(s->im->ctx, &at, &w->capacity, w->count + 1, sizeof *w->at);
    w->at = at;
    if (status == TAKT_OK)
        w->at[w->count++] = id;
    return status;
}

/* Folds the last waiting node, or adds the inputs it needs. */
static takt_status study_last(takt_tfl_scope *s, waiting *w)
{
    const takt_id id = w->at[w->count - 1];
    const takt_node *n = takt_node_at(s->g, id);
    const size_t before = w->count;
    for (uint32_t k = 0; !s->facts[id].is_studied && k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && !s->facts[n->in[k]].is_studied)
            TAKT_TRY(wait_for(s, w, n->in[k]));
    if (w->count > before)
        return TAKT_OK;
    w->count--;
    return s->facts[id].is_studied ? TAKT_OK : learn(s, id);
}

takt_status takt_tfl_study(takt_tfl_scope *s, takt_id id, const takt_array **known)
{
    *known = NULL;
    if (id == TAKT_NONE)
        return TAKT_OK;
    TAKT_TRY(make_room(s));
    waiting w = {0};
    takt_status status = s->facts[id].is_studied ? TAKT_OK : wait_for(s, &w, id);
    while (status == TAKT_OK && w.count > 0)
        status = study_last(s, &w);
    takt_mem_put(s->im->ctx, w.at, w.capacity * sizeof *w.at);
    TAKT_TRY(status);
    *known = s->facts[id].known;
    return TAKT_OK;
}
