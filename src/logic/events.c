/* events.c - elements of tensors as variables of diagrams. */
#include "logic/events.h"

#include <string.h>

#include "base/size.h"
#include "op/util/bits.h"

int takt_events_lift(takt_lower *l, takt_events *e, takt_dim size)
{
    for (int i = 0; i < e->lifted_count; i++)
        if (takt_dim_same(l->g->dims, e->lifted[i], size))
            return i;
    if (e->lifted_count == TAKT_MOST_LIFTED) {
        takt_lower_fail(l, TAKT_E_RANK, "rules of probability have at most %d axes without a size",
                        TAKT_MOST_LIFTED);
        return -1;
    }
    e->lifted[e->lifted_count] = size;
    return e->lifted_count++;
}

/* ---- mutually exclusive rows ---- */

/* The axis along which a tensor is a softmax, seen through reshapes that keep it; -1: none. */
static int softmax_axis(takt_graph *g, takt_id id)
{
    enum { FAR = 32 };
    const takt_node *way[FAR];
    int steps = 0;
    const takt_node *n = takt_node_at(g, id);
    for (; strcmp(n->op->name, "softmax") != 0; n = takt_node_at(g, n->in[0])) {
        const bool is_passed = strcmp(n->op->name, "reshape") == 0 ||
                               strcmp(n->op->name, "transpose") == 0 ||
                               strcmp(n->op->name, "cast") == 0;
        if (!is_passed || steps == FAR)
            return -1;
        way[steps++] = n;
    }
    const int64_t given = takt_node_attr(n, "axis")->i64;
    int axis = (int)(given < 0 ? given + n->type[0].rank : given);
    takt_type type = n->type[0];
    while (steps-- > 0) {
        const takt_type *to = &way[steps]->type[0];
        if (strcmp(way[steps]->op->name, "transpose") == 0) {
            const takt_attr *p = takt_node_attr(way[steps], "perm");
            int found = -1;
            for (int i = 0; i < to->rank; i++)
                if ((p->count == 0 ? to->rank - 1 - i : p->i64s[i]) == axis)
                    found = i;
            axis = found;
        } else if (strcmp(way[steps]->op->name, "reshape") == 0) {
            if (axis != type.rank - 1 || to->rank == 0 ||
                !takt_dim_same(g->dims, to->dim[to->rank - 1], type.dim[axis]))
                return -1;
            axis = to->rank - 1;
        }
        type = *to;
    }
    return axis;
}

/* ---- sources ---- */

/* Sizes and strides of a tensor whose dimensions are these; NULL after a complaint. */
static takt_source *add(takt_lower *l, takt_events *e, takt_source like, const takt_dim *dims)
{
    takt_source *s = takt_arena_copy(e->arena, &like, sizeof like);
    size_t bytes;
    if (s == NULL) {
        takt_graph_fail(l->g, TAKT_ERR_MEMORY);
        return NULL;
    }
    s->units = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        const takt_dim size = takt_events_dim(l, dims[i]);
        s->lifted[i] = -1;
        if (!takt_dim_is_number(size)) {
            if (i == s->group) {
                takt_lower_fail(l, TAKT_E_SEMANTICS,
                                "events that exclude each other lie along an axis without a size");
                return NULL;
            }
            s->lifted[i] = takt_events_lift(l, e, size);
            for (int k = i + 1; k < s->rank; k++)
                if (s->lifted[k] == s->lifted[i] && s->lifted[i] >= 0)
                    takt_lower_fail(l, TAKT_E_SEMANTICS,
                                    "two axes of a tensor have the same size without a number");
            if (l->g->status != TAKT_OK)
                return NULL;
            continue;
        }
        s->size[i] = (size_t)size;
        if (i == s->group)
            continue;
        s->stride[i] = s->units;
        if (!takt_size_mul(s->units, s->size[i], &s->units)) {
            takt_lower_fail(l, TAKT_E_OVERFLOW, "a tensor of events is too large");
            return NULL;
        }
    }
    s->values = s->group >= 0 ? (uint32_t)s->size[s->group] + s->has_rest : 2;
    if (!takt_size_mul(s->units, sizeof *s->variable, &bytes) ||
        (s->variable = takt_arena_array(e->arena, s->units + 1, sizeof *s->variable)) == NULL) {
        takt_graph_fail(l->g, TAKT_ERR_MEMORY);
        return NULL;
    }
    s->next = e->sources;
    e->sources = s;
    return s;
}

takt_source *takt_events_of(takt_lower *l, takt_events *e, const takt_predicate *p)
{
    takt_graph *g = l->g;
    for (takt_source *s = e->sources; s != NULL; s = s->next)
        if (s->id == p->value && !s->is_constant)
            return s;
    if (p->value == TAKT_NONE)
        return NULL;
    const takt_node *n = takt_node_at(g, p->value);
    const bool is_known = n->op == &takt_op_constant;
    takt_source s = {.id = p->value, .rank = p->arity, .group = -1};
    takt_dim dims[TAKT_MAX_RANK];
    for (int i = 0; i < p->arity; i++)
        dims[i] = p->arg[i].size;
    s.is_crisp = p->form == TAKT_FORM_BITS || p->form == TAKT_FORM_BOOL;
    s.is_bits = p->form == TAKT_FORM_BITS;
    s.known = is_known ? n->attr[0].tensor : NULL;
    s.group = s.is_crisp ? -1 : softmax_axis(g, p->value);
    s.of = s.is_crisp || s.group >= 0 ? NULL : p;
    return add(l, e, s, dims);
}

takt_source *takt_events_crisp(takt_lower *l, takt_events *e, const takt_labelled *v, int group)
{
    takt_dim dims[TAKT_MAX_RANK];
    const takt_source s = {.id = takt_labelled_elements(l, v),
                           .rank = v->rank,
                           .group = group,
                           .has_rest = group >= 0,
                           .is_crisp = true};
    for (int i = 0; i < v->rank; i++)
        dims[i] = takt_lower_size(l, v->var[i]);
    return s.id != TAKT_NONE ? add(l, e, s, dims) : NULL;
}

takt_source *takt_events_weight(takt_lower *l, takt_events *e, double weight, size_t units)
{
    const takt_dim size = (takt_dim)units;
    const takt_source s = {
        .id = takt_lower_constant(l, weight), .rank = 1, .group = -1, .is_constant = true};
    return s.id != TAKT_NONE ? add(l, e, s, &size) : NULL;
}

/* ---- variables ---- */

/* The unit that an element belongs to, and its position in the group. */
static size_t unit_of(const takt_source *s, const int64_t *index, size_t *in_group)
{
    size_t unit = 0;
    *in_group = 0;
    for (int i = 0; i < s->rank; i++) {
        if (i == s->group)
            *in_group = (size_t)index[i];
        else if (s->lifted[i] < 0)
            unit += s->stride[i] * (size_t)index[i];
    }
    return unit;
}

/* The value of an element that is known. */
static double known_value(const takt_source *s, const int64_t *index)
{
    const takt_dtype dtype = s->known->type.dtype;
    const void *data = takt_tensor_data(s->known);
    size_t at = 0;
    for (int i = 0; i < s->rank; i++) {
        const bool is_word = s->is_bits && i == s->rank - 1;
        at = is_word ? at * (s->size[i] / 64 + (s->size[i] % 64 != 0)) + (size_t)index[i] / 64
                     : at * s->size[i] + (size_t)index[i];
    }
    if (s->is_bits)
        return (double)(((const uint64_t *)data)[at] >> (size_t)index[s->rank - 1] % 64 & 1);
    return takt_dtype_is_float(dtype) ? takt_dtype_get_f(dtype, data, at)
                                      : (double)takt_dtype_get_i(dtype, data, at);
}

static bool note(takt_events *e, takt_source *s, uint32_t variable, size_t unit)
{
    if (variable >= e->capacity) {
        const size_t more = e->capacity > 0 ? 2 * e->capacity : 256;
        takt_source **of = takt_arena_array(e->arena, more, sizeof *of);
        uint32_t *units = takt_arena_array(e->arena, more, sizeof *units);
        if (of == NULL || units == NULL) {
            e->dds.status = TAKT_ERR_MEMORY;
            return false;
        }
        if (e->capacity > 0) {
            memcpy(of, e->of, e->capacity * sizeof *of);
            memcpy(units, e->unit, e->capacity * sizeof *units);
        }
        e->of = of;
        e->unit = units;
        e->capacity = more;
    }
    e->of[variable] = s;
    e->unit[variable] = (uint32_t)unit;
    return true;
}

takt_dd takt_events_at(takt_events *e, takt_source *s, const int64_t *index)
{
    size_t value;
    const size_t unit = unit_of(s, index, &value);
    if (e->dds.status != TAKT_OK)
        return TAKT_DD_FALSE;
    if (s->known != NULL && s->group < 0) {
        const double truth = known_value(s, index);
        if (truth == 0 || truth == 1)
            return truth == 0 ? TAKT_DD_FALSE : TAKT_DD_TRUE;
    }
    if (s->variable[unit] == 0) {
        const uint32_t fresh = takt_dd_variable(&e->dds, s->values);
        if (e->dds.status != TAKT_OK || !note(e, s, fresh, unit))
            return TAKT_DD_FALSE;
        s->variable[unit] = fresh + 1;
    }
    return takt_dd_is(&e->dds, s->variable[unit] - 1, s->group >= 0 ? (uint32_t)value : 1);
}

bool takt_events_check(takt_lower *l, takt_events *e)
{
    if (e->dds.status == TAKT_OK)
        return l->g->status == TAKT_OK;
    if (e->dds.status != TAKT_ERR_LIMIT) {
        takt_graph_fail(l->g, e->dds.status);
        return false;
    }
    const char *name = l->rule->head->name;
    l->place = l->rule->place;
    takt_lower_fail(l, TAKT_E_DIAGRAM,
                    "the proofs of %s need a decision diagram of more than %d nodes", name,
                    TAKT_DD_NODES);
    takt_fail_hint(l->program->ctx,
                   "semantics=viterbi takes the most probable proof alone and needs no diagram");
    return false;
}

/* ---- tensors ---- */

takt_id takt_events_arranged(takt_lower *l, const takt_events *e, const takt_source *s,
                             takt_lifted_set set)
{
    takt_graph *g = l->g;
    int64_t perm[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MOST_LIFTED + 1];
    size_t count = 0, rank = 0, elements = 1;
    takt_id id = s->id;
    if (s->is_bits && id != TAKT_NONE)
        id = takt_unpack_bits(g, id, (takt_dim)s->size[s->rank - 1]);
    if (id != TAKT_NONE && takt_type_of(g, id)->dtype != takt_lower_dtype(l))
        id = takt_cast(g, id, takt_lower_dtype(l));
    if (s->of != NULL)
        id = takt_lower_checked(l, s->of, id);
    for (int i = 0; i < e->lifted_count; i++) {
        if ((set >> i & 1) == 0)
            continue;
        dims[rank] = 1;
        for (int k = 0; k < s->rank; k++)
            if (s->lifted[k] == i) {
                perm[count++] = k;
                dims[rank] = e->lifted[i];
            }
        rank++;
    }
    for (int k = 0; k < s->rank; k++)
        if (s->lifted[k] < 0 && k != s->group)
            perm[count++] = k;
    if (s->group >= 0)
        perm[count++] = s->group;
    for (int k = 0; k < s->rank; k++)
        elements *= s->lifted[k] < 0 ? s->size[k] : 1;
    dims[rank++] = (takt_dim)(s->is_constant ? 1 : elements);
    bool moves = false;
    for (size_t k = 0; k < count; k++)
        moves = moves || perm[k] != (int64_t)k;
    if (moves && !s->is_constant)
        id = takt_transpose(g, id, perm, count);
    return takt_reshape(g, id, dims, rank);
}
