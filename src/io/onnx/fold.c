/* fold.c - known values during import: constants, and vectors of dimensions. */
#include <string.h>

#include "base/mem.h"
#include "interp/interp.h"
#include "io/onnx/import.h"
#include "ir/leaves.h"

/* Larger values are weights or data; shapes do not depend on all their elements. */
enum { BIG = 1 << 22, TABLE = 4 };

static takt_status make_room(takt_room *room)
{
    const size_t need = room->g->count;
    size_t capacity = room->fact_count;
    if (need <= capacity)
        return TAKT_OK;
    void *facts = room->facts;
    const takt_status status =
        takt_mem_grow(room->im->ctx, &facts, &capacity, need, sizeof *room->facts);
    if (status != TAKT_OK)
        return status;
    room->facts = facts;
    memset(room->facts + room->fact_count, 0, (capacity - room->fact_count) * sizeof *room->facts);
    room->fact_count = capacity;
    return TAKT_OK;
}

static takt_array *new_arrays(takt_room *room, size_t count)
{
    return takt_arena_array(&room->im->arena, count, sizeof(takt_array));
}

/* ---- leaves ---- */

static takt_status know_tensor(takt_room *room, takt_fact *f, const takt_tensor *t)
{
    if (takt_tensor_count(t) > BIG)
        return TAKT_OK;
    takt_array *array = new_arrays(room, 1);
    if (array == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_array_from_tensor(room->im->ctx, t, array));
    f->known = array;
    f->out_count = 1;
    f->state = TAKT_FACT_READY;
    return TAKT_OK;
}

/* An empty list is a known value: the axes of a reduction over no axis. */
static takt_status know_empty(takt_room *room, const takt_type *type, takt_fact *f)
{
    if (type->rank != 1 || type->dim[0] != 0)
        return TAKT_OK;
    takt_array *array = new_arrays(room, 1);
    if (array == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_array_create(room->im->ctx, type, array));
    f->known = array;
    f->out_count = 1;
    f->state = TAKT_FACT_READY;
    return TAKT_OK;
}

static takt_status know_input(takt_room *room, takt_id id, takt_fact *f)
{
    const takt_source *source = room->im->source;
    if (room->outer == NULL) {
        const char *name = takt_node_at(room->g, id)->attr[0].string;
        for (size_t i = 0; i < source->fixed_count; i++)
            if (strcmp(source->fixed[i].name, name) == 0 && source->fixed[i].tensor.storage != NULL)
                return know_tensor(room, f, &source->fixed[i].tensor);
        return know_empty(room, &takt_node_at(room->g, id)->type[0], f);
    }
    for (size_t i = 0; i < room->capture_count; i++) {
        if (room->captures[i].inner != id)
            continue;
        const takt_array *known; /* rooms nest at most limits.depth deep */
        TAKT_TRY(takt_fold_known(room->outer, room->captures[i].outer, &known));
        TAKT_TRY(takt_fold_syms(room->outer, room->captures[i].outer, &f->syms));
        takt_array *borrowed = known != NULL ? new_arrays(room, 1) : NULL;
        if (borrowed != NULL)
            *borrowed = *known;
        f->known = borrowed;
        f->is_borrowed = true;
        f->out_count = 1;
        f->state = known != NULL || f->syms.at != NULL ? TAKT_FACT_READY : TAKT_FACT_UNKNOWN;
    }
    return TAKT_OK;
}

/* ---- nodes ---- */

static bool can_evaluate(const takt_room *room, const takt_node *n)
{
    if ((n->op->traits & (TAKT_UNIQUE | TAKT_LEAF)) && n->op != &takt_op_iota)
        return false;
    for (uint32_t i = 0; i < n->in_count; i++)
        if (n->in[i] != TAKT_NONE && room->facts[n->in[i]].known == NULL)
            return false;
    for (uint32_t o = 0; o < n->out_count; o++) {
        size_t count;
        if (!takt_type_count(&n->type[o], &count) || count > BIG)
            return false;
    }
    return true;
}

static takt_status evaluate(takt_room *room, takt_id id, takt_fact *f)
{
    const takt_node *n = takt_node_at(room->g, id);
    takt_array *in = new_arrays(room, n->in_count), *out = new_arrays(room, n->out_count);
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < n->in_count; i++)
        in[i] = n->in[i] == TAKT_NONE ? (takt_array){.rank = -1} : room->facts[n->in[i]].known[0];
    if (n->op == &takt_op_get) {
        const takt_fact *from = &room->facts[n->in[0]];
        out[0] = from->known[n->attr[0].i64];
        f->is_borrowed = true;
    } else {
        const takt_error before = room->im->ctx->error;
        const takt_status status = takt_interpret_node(room->im->ctx, room->g, n, in, out);
        if (status == TAKT_ERR_MEMORY)
            return status;
        if (status != TAKT_OK) {
            room->im->ctx->error = before; /* it will fail again, and be reported, when run */
            return TAKT_OK;
        }
    }
    f->known = out;
    f->out_count = n->out_count;
    f->state = TAKT_FACT_READY;
    return TAKT_OK;
}

/* Elements of a shape that are numbers are known, even if other elements of the shape are names. */
static takt_status know_symbols(takt_room *room, const takt_type *type, takt_fact *f)
{
    f->state = f->syms.at != NULL ? TAKT_FACT_READY : TAKT_FACT_UNKNOWN;
    for (size_t i = 0; f->syms.at != NULL && i < f->syms.count; i++)
        if (f->syms.at[i].is_dim)
            return TAKT_OK;
    takt_array *array = f->syms.at != NULL ? new_arrays(room, 1) : NULL;
    if (array == NULL)
        return f->syms.at != NULL ? TAKT_ERR_MEMORY : TAKT_OK;
    TAKT_TRY(takt_array_create(room->im->ctx, type, array));
    for (size_t i = 0; i < f->syms.count; i++)
        array->i[i] = f->syms.at[i].number;
    takt_array_round(array);
    f->known = array;
    f->out_count = 1;
    return TAKT_OK;
}

static takt_status learn(takt_room *room, takt_id id)
{
    const takt_node *n = takt_node_at(room->g, id);
    takt_fact *f = &room->facts[id];
    if (f->state != TAKT_FACT_NEW)
        return TAKT_OK;
    if (n->op == &takt_op_constant)
        TAKT_TRY(know_tensor(room, f, n->attr[0].tensor));
    else if (n->op == &takt_op_input)
        TAKT_TRY(know_input(room, id, f));
    else if (can_evaluate(room, n) && takt_fold_affords(room, n))
        TAKT_TRY(evaluate(room, id, f));
    else if ((takt_dtype_is_int(n->type[0].dtype) || n->type[0].dtype == TAKT_BOOL) &&
             n->type[0].rank <= TABLE && n->out_count == 1) {
        TAKT_TRY(takt_fold_symbolic(room, id, &f->syms));
        TAKT_TRY(know_symbols(room, &n->type[0], f));
    }
    if (f->state == TAKT_FACT_NEW)
        f->state = TAKT_FACT_UNKNOWN;
    return TAKT_OK;
}

/* Nodes to be folded: inputs before their readers. */
typedef struct waiting {
    takt_id *at;
    size_t count, capacity;
} waiting;

static takt_status wait_for(takt_room *room, waiting *w, takt_id id)
{
    void *at = w->at;
    const takt_status status =
        takt_mem_grow(room->im->ctx, &at, &w->capacity, w->count + 1, sizeof *w->at);
    w->at = at;
    if (status == TAKT_OK)
        w->at[w->count++] = id;
    return status;
}

/* Evaluates the last pending value, or adds its operands. The size of a value needs only its type:
 * otherwise everything it is computed from, such as dequantised weights, would be evaluated. */
static takt_status study_last(takt_room *room, waiting *w)
{
    const takt_id id = w->at[w->count - 1];
    const takt_node *n = takt_node_at(room->g, id);
    const size_t before = w->count;
    const uint32_t in_count = n->op == &takt_op_dim ? 0 : n->in_count;
    for (uint32_t k = 0; room->facts[id].state == TAKT_FACT_NEW && k < in_count; k++)
        if (n->in[k] != TAKT_NONE && room->facts[n->in[k]].state == TAKT_FACT_NEW)
            TAKT_TRY(wait_for(room, w, n->in[k]));
    if (w->count > before)
        return TAKT_OK;
    w->count--;
    return learn(room, id);
}

static takt_status study(takt_room *room, takt_id id)
{
    TAKT_TRY(make_room(room));
    if (room->facts[id].state != TAKT_FACT_NEW)
        return TAKT_OK;
    waiting w = {0};
    takt_status status = wait_for(room, &w, id);
    while (status == TAKT_OK && w.count > 0)
        status = study_last(room, &w);
    takt_mem_put(room->im->ctx, w.at, w.capacity * sizeof *w.at);
    return status;
}

/* True for lists and optionals, too, which are not values of the graph: their ids lie beyond its
 * nodes. */
static bool is_nothing(const takt_room *room, takt_id id)
{
    return id == TAKT_NONE || id >= room->g->count;
}

takt_status takt_fold_known(takt_room *room, takt_id id, const takt_array **known)
{
    *known = NULL;
    if (is_nothing(room, id))
        return TAKT_OK;
    TAKT_TRY(study(room, id));
    *known = room->facts[id].known;
    return TAKT_OK;
}

takt_status takt_fold_syms(takt_room *room, takt_id id, takt_syms *syms)
{
    *syms = (takt_syms){0};
    if (is_nothing(room, id))
        return TAKT_OK;
    TAKT_TRY(study(room, id));
    takt_fact *f = &room->facts[id];
    const bool is_small = f->known != NULL && (f->known->rank <= 1 || f->known->count <= 64);
    if (f->syms.at == NULL && is_small && f->known->i != NULL && f->known->rank <= TABLE) {
        takt_sym *at = takt_arena_array(&room->im->arena, f->known->count + 1, sizeof *at);
        if (at == NULL)
            return TAKT_ERR_MEMORY;
        for (size_t i = 0; i < f->known->count; i++)
            at[i].number = f->known->i[i];
        f->syms = (takt_syms){at, f->known->count};
    }
    *syms = f->syms;
    return TAKT_OK;
}

takt_status takt_fold_bind(takt_room *room, takt_id id)
{
    TAKT_TRY(make_room(room));
    if (id != TAKT_NONE)
        room->facts[id].is_bound = true;
    return TAKT_OK;
}

takt_status takt_fold_settle(takt_room *room)
{
    TAKT_TRY(make_room(room));
    for (size_t i = room->g->count; i-- > 0;) {
        const takt_node *n = takt_node_at(room->g, (takt_id)i);
        for (uint32_t k = 0; room->facts[i].is_bound && k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE && room->facts[n->in[k]].known != NULL)
                room->facts[n->in[k]].is_bound = true;
    }
    return TAKT_OK;
}
