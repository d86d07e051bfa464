/* planner_facts.c - kernels, and facts about the group, for backends. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "plan/builder.h"

/* The type that families compute in, if it differs from their operands'. */
static const struct {
    const char *family;
    takt_dtype arithmetic;
    bool is_fast;
} arithmetics[] = {
    {"gemm_i8", TAKT_I8, false},         {"gemm_bf16", TAKT_BF16, true},
    {"gemm_f16", TAKT_F16, true},        {"product_bf16", TAKT_BF16, true},
    {"depthwise_bf16", TAKT_BF16, true}, {"winograd_bf16", TAKT_BF16, true},
};

static takt_found_kernel look_up(const char *family, takt_isa_set isas)
{
    takt_found_kernel f = {.family = family, .isas = isas};
    f.kernel = takt_kernel_find(family, isas, NULL, 0, NULL);
    f.family_length = strlen(family);
    f.name_length = f.kernel != NULL ? strlen(f.kernel->name) : 0;
    for (size_t i = 0; i < sizeof arithmetics / sizeof *arithmetics; i++)
        if (strcmp(arithmetics[i].family, family) == 0) {
            f.arithmetic = arithmetics[i].arithmetic;
            f.is_fast = arithmetics[i].is_fast;
        }
    return f;
}

/* The plan's record of it; `*other` where there are too many. */
static const takt_found_kernel *find(takt_planner *p, const char *family, takt_found_kernel *other)
{
    takt_builder *b = takt_builder_of(p);
    const takt_isa_set isas = p->step->isas;
    for (size_t i = 0, at = b->found_next; i < b->found_count; i++, at++) {
        at = at < b->found_count ? at : 0;
        if (b->found[at].family == family && b->found[at].isas == isas) {
            b->found_next = at + 1;
            return &b->found[at];
        }
    }
    *other = look_up(family, isas);
    if (b->found_count == TAKT_FOUND_KERNELS)
        return other;
    b->found[b->found_count] = *other;
    return &b->found[b->found_count++];
}

const takt_kernel *takt_planner_find(takt_planner *p, const char *family)
{
    takt_found_kernel other;
    return find(p, family, &other)->kernel;
}

static void note_kernel(takt_planner *p, const takt_found_kernel *f)
{
    takt_step *step = p->step;
    const size_t first = f->family_length, second = f->name_length;
    char *name = takt_planner_get(p, first + second + 2);
    if (name == NULL)
        return;
    memcpy(name, f->family, first);
    name[first] = '/';
    memcpy(name + first + 1, f->kernel->name, second);
    step->kernel = name;
    step->family = f->family;
    step->facts.arithmetic = f->arithmetic;
    step->facts.is_fast = f->is_fast;
}

const takt_kernel *takt_planner_kernel(takt_planner *p, const char *family)
{
    takt_found_kernel other;
    const takt_found_kernel *f = find(p, family, &other);
    if (f->kernel != NULL && p->step->kernel == NULL)
        note_kernel(p, f);
    return f->kernel;
}

void takt_planner_lacks_fast(takt_planner *p, const char *why)
{
    if (p->step->note != NULL)
        return;
    p->step->note = why;
    p->step->facts.lacks_fast = true;
}

bool takt_planner_is_single_threaded(const takt_planner *p)
{
    for (size_t i = 0; i < p->settings->single_count; i++)
        if (p->settings->single_threaded[i] == p->group->nodes[0])
            return true;
    return false;
}

bool takt_planner_escapes(const takt_planner *p, takt_id id)
{
    uint32_t inside = 0;
    for (size_t i = 0; i < p->group->count; i++) {
        const takt_node *n = &p->graph->nodes[p->group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++)
            inside += n->in[k] == id;
    }
    return p->uses[id] > inside;
}

static bool has_node(const takt_step *s, takt_id node)
{
    for (size_t i = 0; s->nodes != NULL && i < s->node_count; i++)
        if (s->nodes[i] == node)
            return true;
    return false;
}

/* Scratch of the step that computes the same in the plan for the largest sizes, mostly at the same
 * place. Where no step does, since other sizes are grouped differently, the most that any step
 * there has: the arena has that much. */
size_t takt_builder_scratch_room(const takt_builder *b, const takt_group *group)
{
    const takt_plan *rooms = b->p.settings->rooms;
    const size_t index = b->p.plan->step_count;
    size_t most = 0;
    if (rooms == NULL || b->in_prologue || rooms->threads != b->p.plan->threads)
        return SIZE_MAX;
    if (index < rooms->step_count && has_node(&rooms->steps[index], group->nodes[0]))
        return takt_step_scratch(&rooms->steps[index], rooms->threads);
    for (size_t i = 0; i < rooms->step_count; i++) {
        const size_t scratch = takt_step_scratch(&rooms->steps[i], rooms->threads);
        if (has_node(&rooms->steps[i], group->nodes[0]))
            return scratch;
        most = scratch > most ? scratch : most;
    }
    return most;
}

bool takt_planner_has_room(const takt_planner *p)
{
    const takt_step *s = p->step;
    const size_t parts = s->task_count == 1 ? 1 : (size_t)p->plan->threads;
    size_t all, each;
    return p->scratch_room == SIZE_MAX ||
           (takt_size_align(s->scratch_bytes, TAKT_ALIGN, &all) &&
            takt_size_align(s->scratch_each, TAKT_ALIGN, &each) &&
            takt_size_mul(each, parts, &each) && takt_size_add(all, each, &all) &&
            (all <= p->scratch_room || takt_step_is_stacked(s)));
}
