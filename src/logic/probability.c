/* probability.c - strata of rules under `probability`: functions, their circuits, tensors. */
#include <float.h>

#include "logic/ground.h"

/* ---- tensors ---- */

/* The lifted axes of a head; false after a complaint. */
static bool head_axes(takt_lower *l, takt_events *e, const takt_predicate *p, takt_lifted_set *set,
                      int axis[TAKT_MAX_RANK])
{
    *set = 0;
    for (int i = 0; i < p->arity; i++) {
        const takt_dim size = takt_events_dim(l, p->arg[i].size);
        axis[i] = takt_dim_is_number(size) ? -1 : takt_events_lift(l, e, size);
        if (axis[i] >= 0)
            *set |= 1U << axis[i];
    }
    return l->g->status == TAKT_OK;
}

/* The position of a lifted axis among those of the set. */
static int rank_in(takt_lifted_set set, int axis)
{
    int rank = 0;
    for (int i = 0; i < axis; i++)
        rank += (set >> i & 1) != 0;
    return rank;
}

/* [lifted..., tuples] with an axis for every argument. */
static takt_id shaped(takt_lower *l, const takt_events *e, const takt_predicate *p, takt_id id,
                      takt_lifted_set set, const int *axis)
{
    takt_dim dims[TAKT_MAX_RANK + TAKT_MOST_LIFTED];
    int64_t perm[TAKT_MAX_RANK];
    int lifted = 0, plain = 0;
    for (int i = 0; i < e->lifted_count; i++)
        if ((set >> i & 1) != 0)
            dims[lifted++] = e->lifted[i];
    for (int i = 0; i < p->arity; i++) {
        perm[i] = axis[i] >= 0 ? rank_in(set, axis[i]) : lifted + plain;
        if (axis[i] < 0)
            dims[lifted + plain++] = takt_events_dim(l, p->arg[i].size);
    }
    id = takt_reshape(l->g, id, dims, (size_t)(lifted + plain));
    for (int i = 0; i < p->arity; i++)
        if (perm[i] != i)
            return takt_transpose(l->g, id, perm, (size_t)p->arity);
    return id;
}

static takt_id log_of(takt_graph *g, takt_id x)
{
    return takt_unary(g, &takt_op_log,
                      takt_binary(g, &takt_op_max, x, takt_scalar_like(g, x, FLT_MIN)));
}

/* forall and exists over lifted axes: events at different positions of the axis are independent, so
 * probabilities multiply. */
static takt_id close_axes(takt_lower *l, takt_predicate *p, takt_id id, takt_lifted_set set,
                          const takt_closing *close)
{
    int64_t axes[TAKT_MOST_LIFTED];
    size_t count = 0;
    for (int i = 0; i < TAKT_MOST_LIFTED; i++)
        if ((close->axes >> i & 1) != 0)
            axes[count++] = rank_in(set, i);
    if (!close->is_forall)
        return takt_semantics_probability.exists(l->g, id, axes, count);
    const takt_id sum =
        takt_reduce_over(l->g, &takt_op_reduce_sum, log_of(l->g, id), axes, count, false);
    if (p->arity == 0)
        p->log_truth = takt_reshape(l->g, sum, NULL, 0);
    return takt_semantics_probability.forall(l->g, id, axes, count);
}

static void tell(takt_lower *l, takt_predicate *p, size_t nodes)
{
    if (p->rules != NULL && p->rules->joins == NULL)
        p->rules->joins = takt_arena_format(l->program->arena, "diagram of %zu node%s", nodes,
                                            nodes == 1 ? "" : "s");
}

static void emit(takt_lower *l, takt_events *e, takt_predicate *p, const takt_closing *close)
{
    takt_lifted_set set, any, shared;
    int axis[TAKT_MAX_RANK];
    size_t nodes = 0;
    takt_arena own;
    if (!head_axes(l, e, p, &set, axis))
        return;
    takt_arena_init(&own, l->program->ctx);
    takt_circuit_axes(e, p->cells, p->cell_count, &own, &any, &shared);
    takt_arena_deinit(&own);
    l->place = p->place;
    l->semantics = &takt_semantics_probability;
    if (close->axes != 0 && (close->axes & ~shared) != 0) {
        takt_lower_fail(l, TAKT_E_SEMANTICS,
                        "%s quantifies over an axis whose size is a name, but uses an event that "
                        "all of its elements share",
                        p->name);
        return;
    }
    set |= close->axes;
    if ((any & ~set) != 0) {
        takt_lower_fail(l, TAKT_E_SEMANTICS, "%s lacks an axis that its proofs depend on", p->name);
        return;
    }
    takt_id id = takt_circuit(l, e, p->cells, p->cell_count, set, &nodes);
    if (close->axes != 0) {
        id = close_axes(l, p, id, set, close);
        p->is_closed = true;
        set &= ~close->axes;
    }
    p->value = shaped(l, e, p, id, set, axis);
    tell(l, p, nodes);
}

static takt_events *events_of(takt_lower *l)
{
    takt_program *program = l->program;
    if (*program->events != NULL)
        return *program->events;
    takt_events *e = takt_arena_array(program->arena, 1, sizeof *e);
    if (e == NULL) {
        takt_graph_fail(l->g, TAKT_ERR_MEMORY);
        return NULL;
    }
    e->arena = program->arena;
    takt_dds_init(&e->dds, program->arena);
    *program->events = e;
    return e;
}

void takt_lower_probability(takt_lower *l, takt_predicate *const *members, size_t count)
{
    takt_closing close = {0};
    takt_events *e = events_of(l);
    for (size_t i = 0; i < count && e != NULL; i++) {
        l->place = members[i]->place;
        if (members[i]->semantics != members[0]->semantics) {
            takt_lower_fail(l, TAKT_E_SEMANTICS,
                            "%s and %s use each other, but one is %s and the other %s",
                            members[i]->name, members[0]->name, members[i]->semantics->name,
                            members[0]->semantics->name);
            return;
        }
    }
    if (e == NULL || !takt_ground_stratum(l, e, members, count, &close))
        return;
    for (size_t i = 0; i < count && l->g->status == TAKT_OK; i++)
        emit(l, e, members[i], &close);
}
