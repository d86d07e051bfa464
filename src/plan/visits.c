/* visits.c - which steps a new size visits, and their memory ahead of time. */
#include "plan/visits.h"

#include "op/ops.h"

enum { LINE = 64, FAR = 4, NEAR = 2 }; /* bytes; steps ahead of the one that is compiled */

bool takt_visits_create(takt_visits *v, takt_builder *b)
{
    const takt_plan *plan = b->p.plan;
    const takt_graph *g = plan->graph;
    v->room = takt_arena_array(&b->scratch, plan->step_count + 1, sizeof *v->room);
    v->picked = takt_arena_array(&b->scratch, plan->step_count + 1, sizeof *v->picked);
    v->buffers = takt_arena_array(&b->scratch, plan->buffer_count + 1, sizeof *v->buffers);
    v->parts = takt_arena_array(&b->scratch, g->count + 1, sizeof *v->parts);
    if (v->room == NULL || v->picked == NULL || v->buffers == NULL || v->parts == NULL)
        return false;
    for (size_t i = 0; i < g->count; i++)
        if (b->live[i] && (g->nodes[i].op == &takt_op_slice || g->nodes[i].op == &takt_op_concat))
            v->parts[v->part_count++] = (takt_id)i;
    return true;
}

void takt_visits_renew(takt_visits *v, const takt_plan *plan)
{
    for (size_t i = 0; v->list != NULL && i < plan->step_count; i++)
        v->list[i].is_parallel = takt_step_is_parallel(&plan->steps[i]);
}

void takt_visits_find(takt_visits *v, const takt_builder *b, const takt_names *reach)
{
    const takt_plan *plan = b->p.plan;
    size_t step = 0;
    for (size_t k = 0; k < b->sequence_count; k++) {
        const takt_group *group = &b->groups[b->sequence[k]];
        if (b->is_constant[group->nodes[0]])
            continue;
        if (step == plan->step_count || plan->steps[step].nodes == NULL)
            return;
        v->room[step++] =
            (takt_visit){.names = takt_reach_group(reach, group), .position = (uint32_t)k};
    }
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *buffer = &plan->buffers[i];
        if (buffer->value != TAKT_NONE && buffer->place != TAKT_PLACE_CONSTANT)
            v->buffers[i] = reach[buffer->value];
    }
    v->list = step == plan->step_count ? v->room : NULL;
    takt_visits_renew(v, plan);
}

void takt_visits_pick(takt_visits *v, const takt_plan *plan, takt_names changed)
{
    if (changed == v->changed)
        return;
    v->changed = changed;
    v->picked_count = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        if ((v->list[i].names & changed) != 0)
            v->picked[v->picked_count++] = (uint32_t)i;
}

/* ---- ahead ---- */

/* Fetches lines to be written: other threads have read them. x86-64 has an instruction for that
 * where it has AVX2; fetched for reading, lines have to be asked for twice. */
static void fetch(const takt_visited *of, const void *at, size_t bytes)
{
    const char *from = at;
    (void)of;
    for (size_t i = 0; i < bytes; i += LINE) {
#ifdef __x86_64__
        if ((of->plan->isas & UINT32_C(1) << TAKT_ISA_avx2) != 0)
            __asm__ volatile("prefetchw %0" : : "m"(from[i]));
#else
        __builtin_prefetch(from + i, 1);
#endif
    }
}

static size_t first_answer(const size_t *after, size_t step)
{
    return step > 0 ? after[step - 1] : 0;
}

static void fetch_record(const takt_visits *v, const takt_visited *of, size_t k)
{
    if (k >= v->picked_count)
        return;
    const size_t step = v->picked[k], from = first_answer(of->after, step);
    fetch(of, &of->plan->steps[step], sizeof of->plan->steps[step]);
    fetch(of, &of->answers->list[from], (of->after[step] - from) * sizeof *of->answers->list);
}

/* What its record and answers point to. */
static void fetch_memory(const takt_visits *v, const takt_visited *of, size_t k)
{
    if (k >= v->picked_count)
        return;
    const size_t step = v->picked[k];
    const takt_step *s = &of->plan->steps[step];
    fetch(of, s->in, s->in_count * sizeof *s->in);
    fetch(of, s->out, s->out_count * sizeof *s->out);
    for (size_t i = first_answer(of->after, step); i < of->after[step]; i++)
        if (of->answers->list[i].what == TAKT_ASKED_BLOCK)
            fetch(of, of->answers->list[i].at, of->answers->list[i].bytes);
}

void takt_visits_begin(const takt_visits *v, const takt_visited *of)
{
    for (size_t k = 0; k < FAR; k++)
        fetch_record(v, of, k);
}

void takt_visits_ahead(const takt_visits *v, const takt_visited *of, size_t at)
{
    for (size_t k = at == 0 ? 0 : at + NEAR; k <= at + NEAR; k++)
        fetch_memory(v, of, k);
    fetch_record(v, of, at + FAR);
}

/* ---- aliases ---- */

bool takt_visits_same_aliases(const takt_visits *v, const takt_builder *b, const takt_names *reach,
                              takt_names changed)
{
    for (size_t i = 0; i < v->part_count; i++)
        if ((reach[v->parts[i]] & changed) != 0 && !takt_builder_alias_stays(b, v->parts[i]))
            return false;
    return true;
}
