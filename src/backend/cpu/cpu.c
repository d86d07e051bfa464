/* cpu.c - the cpu backend: finds the kind of step for a group, and shares out work. */
#include "backend/cpu/cpu.h"

#include <string.h>

#include "backend/cpu/child.h"
#include "backend/cpu/machine.h"
#include "backend/kind.h"
#include "backend/list.h"
#include "plan/look_back.h"

#define TAKT_CPU(kind) extern const takt_cpu_kind takt_cpu_##kind;
#include "cpu_list.inc"
#undef TAKT_CPU

static const takt_cpu_kind *const kinds[] = {
#define TAKT_CPU(kind) &takt_cpu_##kind,
#include "cpu_list.inc"
#undef TAKT_CPU
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_map(const takt_node *n)
{
    return (n->op->traits & TAKT_ELEMENTWISE) != 0 || n->op == &takt_op_broadcast;
}

static takt_accepts_fn *accepts_of(size_t kind)
{
    return kinds[kind]->accepts;
}

/* The kind that runs `node`; otherwise `*why` is the most informative refusal. */
static const takt_cpu_kind *find(const takt_graph *g, takt_id node, const char **why)
{
    *why = "no kind of step computes this operation";
    const size_t i = takt_kind_find(g, node, accepts_of, KINDS, why);
    return i != SIZE_MAX ? kinds[i] : NULL;
}

/* Ops without a kernel are evaluated by the interpreter, and the step is marked as such. */
static const char *supports(const takt_graph *g, takt_id node)
{
    (void)g;
    (void)node;
    return NULL;
}

/* A composite is kept if some kind accepts it as a whole. */
static bool keeps(const takt_graph *g, const takt_node *n)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->keeps != NULL && kinds[i]->keeps(g, n))
            return true;
    return false;
}

static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    const char *why;
    const takt_cpu_kind *kind = is_map(&g->nodes[anchor]) ? NULL : find(g, anchor, &why);
    if (kind == NULL || kind->absorbs == NULL)
        return "the step before it takes no epilogue";
    return kind->absorbs(g, anchor, node);
}

/* The kind that merges a group and another anchor into one step; `*why` as above, "" if none
 * applies. */
static const takt_cpu_kind *find_pair(const takt_planner *p, const takt_group *group, takt_id node,
                                      const char **why)
{
    *why = "";
    for (size_t i = 0; i < KINDS; i++) {
        const char *refusal =
            kinds[i]->continues != NULL ? kinds[i]->continues(p, group, node) : "";
        if (refusal == NULL)
            return kinds[i];
        if (refusal[0] != '\0')
            *why = refusal;
    }
    return NULL;
}

static const char *continues(const takt_planner *p, const takt_group *group, takt_id node)
{
    const char *why;
    return find_pair(p, group, node, &why) != NULL ? NULL : why;
}

static bool converts(const takt_graph *g, takt_id node, uint32_t k)
{
    const char *why;
    const takt_cpu_kind *kind = find(g, node, &why);
    return kind != NULL && kind->converts != NULL && kind->converts(g, node, k);
}

static const takt_machine *machine(const void *state, takt_isa_set isas)
{
    (void)state;
    return &takt_cpu_machine_of(isas)->shared;
}

static takt_status compile(takt_planner *p)
{
    const char *why;
    const takt_group *group = p->group;
    const takt_cpu_kind *old = takt_planner_recall(p), *kind = old;
    if (old == NULL || !old->is_steady)
        kind = group->anchor > 0 ? find_pair(p, group, group->nodes[group->anchor], &why)
                                 : find(p->graph, group->nodes[0], &why);
    if (old != NULL && kind != old)
        return TAKT_ERR_STATE; /* at these sizes another kind takes it */
    TAKT_TRY(takt_planner_remember(p, kind));
    if (kind == NULL) {
        p->step->note = why;
        return takt_backend_ref.compile(p);
    }
    p->step->kind = kind->name;
    p->step->isas = p->settings->family_isas[kind->family];
    p->step->facts = (takt_facts){.work = kind->work};
    TAKT_TRY(kind->compile(p));
    p->step->facts.is_cheap = kind->is_cheap && p->step->out_count == 1 && p->step->undo == NULL;
    return TAKT_OK;
}

const takt_backend takt_backend_cpu = {
    .name = "cpu",
    .summary = "vector kernels on this machine's processor",
    .good_for = "everything; the same bits on every machine",
    .supports = supports,
    .keeps = keeps,
    .absorbs = absorbs,
    .continues = continues,
    .converts = converts,
    .compile = compile,
    .machine = machine,
};

static const takt_gemm_blocking *copy_blocking(takt_planner *p)
{
    takt_gemm_blocking *blocking = takt_planner_get(p, sizeof *blocking);
    if (blocking != NULL)
        *blocking = p->settings->blocking;
    return blocking;
}

takt_status takt_cpu_blocking(takt_planner *p, const takt_gemm_blocking **blocking)
{
    *blocking = NULL;
    if (p->settings->is_blocked)
        *blocking = copy_blocking(p);
    return p->settings->is_blocked && *blocking == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
}

static double bytes_of(const takt_view *v)
{
    double bytes = takt_dtype_bits(v->dtype) / 8.0;
    for (int i = 0; i < v->rank; i++)
        bytes *= (double)v->dim[i];
    return bytes;
}

/* Bytes that the step reads from shared steps just before it: they are spread over several
 * caches. */
static double spread_bytes(const takt_planner *p)
{
    double bytes = 0;
    for (size_t i = 0; i < p->step->in_count; i++) {
        const takt_view *in = &p->step->in[i];
        const int32_t from = takt_look_back(p->plan, p->plan->step_count, in->buffer);
        bytes += from >= 0 && p->plan->steps[from].task_count > 1 ? bytes_of(in) : 0;
    }
    return bytes;
}

size_t takt_cpu_tasks(const takt_planner *p, double flops, double bytes, size_t most)
{
    const takt_cost_model *w = takt_cost_model_of(p->step->isas);
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    if (threads == 1 || most < 2 || takt_planner_is_single_threaded(p))
        return 1;
    const double us = takt_cost_model_us(w, flops, bytes) + spread_bytes(p) / w->moved_per_us;
    const size_t tasks = takt_cost_model_tasks(w, us, threads);
    return tasks < most ? tasks : most;
}

/* Data slightly larger than L2 would never be found there if all runs began at the same end.
 * Processors with AVX-512 have 1 or 2 MB of L2 and an L3 that is a quarter as fast; on a Neoverse
 * V1, whose L3 is fast, reversing gains nothing. */
size_t takt_cpu_reversible_parts(const takt_planner *p, double bytes, size_t most)
{
    enum { LEAST = 3 << 19, MOST = 16 << 20, PARTS = 8 };
    const bool is_one = p->settings->threads <= 1 && !takt_planner_in_prologue(p);
    const bool pays = (p->step->isas >> TAKT_ISA_avx512 & 1) != 0;
    if (!is_one || !pays || bytes < LEAST || bytes > MOST)
        return 1;
    return most < 1 ? 1 : most < PARTS ? most : PARTS;
}

/* All x86-64 processors with arithmetic in f16 have 48 KB of L1, in sets of twelve. */
size_t takt_cpu_ways(const takt_planner *p)
{
    return (p->step->isas >> TAKT_ISA_avx512fp16 & 1) != 0 ? 12 : 0;
}

void takt_cpu_share(size_t count, size_t grain, size_t index, size_t tasks, size_t *first,
                    size_t *end)
{
    if (tasks == 1) {
        *first = 0;
        *end = count;
        return;
    }
    const size_t grains = takt_quotient(count + grain - 1, grain);
    const size_t each = takt_quotient(grains, tasks), more = grains - each * tasks;
    const size_t from = index * each + (index < more ? index : more);
    const size_t to = from + each + (index < more ? 1 : 0);
    *first = from * grain < count ? from * grain : count;
    *end = to * grain < count ? to * grain : count;
}
