/* search_groups.c - the cases of a property, by their boxes, one group after the other. */
#include <math.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "verify/search_hunt.h"

/* Cases with the same box, in the order of the property. */
takt_status takt_search_groups(takt_search *s, const takt_property *p)
{
    s->groups = takt_arena_array(&s->arena, p->case_count, sizeof *s->groups);
    uint32_t *cases = takt_arena_array(&s->arena, p->case_count, sizeof *cases);
    if (s->groups == NULL || cases == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0, at = 0; i < p->case_count; i++) {
        takt_group *g = s->group_count > 0 ? &s->groups[s->group_count - 1] : NULL;
        if (p->cases[i].is_empty)
            continue;
        if (g == NULL || g->box->lo != p->cases[i].lo) {
            g = &s->groups[s->group_count++];
            *g = (takt_group){.box = &p->cases[i], .cases = cases + at};
        }
        g->cases[g->count++] = (uint32_t)i;
        at++;
    }
    s->is_empty = s->group_count == 0;
    return TAKT_OK;
}

/* Rows of regions: intervals alone need those of one case. */
static size_t rows_of(const takt_hunt *h)
{
    size_t rows = 1;
    for (size_t i = 0; i < h->p->case_count; i++)
        if (h->p->cases[i].row_count > rows)
            rows = h->p->cases[i].row_count;
    return h->o->method == TAKT_BY_IBP && rows < TAKT_REGION_ROWS ? rows : TAKT_REGION_ROWS;
}

static takt_status prepare(takt_hunt *h)
{
    takt_arena *a = &h->s->arena;
    const size_t n = (size_t)h->threads, rows = rows_of(h);
    h->regions = takt_arena_array(a, n, sizeof *h->regions);
    h->goals = takt_arena_array(a, n, sizeof *h->goals);
    h->scores = takt_arena_array(a, n, sizeof *h->scores);
    h->outputs = takt_arena_array(a, n, sizeof *h->outputs);
    if (h->regions == NULL || h->goals == NULL || h->scores == NULL || h->outputs == NULL)
        return TAKT_ERR_MEMORY;
    if (!h->by_relus && h->o->method == TAKT_BY_SEARCH && h->p->input_count <= TAKT_JOINT_INPUTS)
        TAKT_TRY(takt_hunt_boxes(h));
    for (size_t i = 0; i < n; i++) {
        TAKT_TRY(takt_region_init(h->net, rows, &h->regions[i]));
        if (h->has_reach)
            TAKT_TRY(takt_hunt_reach(h, &h->regions[i]));
        h->regions[i].by_intervals = h->o->method == TAKT_BY_IBP;
        h->regions[i].is_late = takt_hunt_is_late;
        h->regions[i].late_user = h;
        h->regions[i].center = h->p->center;
        h->regions[i].radius = h->p->radius;
        h->goals[i] = takt_arena_array(a, h->p->case_count, sizeof **h->goals);
        h->scores[i] = takt_arena_array(a, h->p->input_count, sizeof **h->scores);
        h->outputs[i] = takt_arena_array(a, h->p->output_count, sizeof **h->outputs);
        if (h->goals[i] == NULL || h->scores[i] == NULL || h->outputs[i] == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

static void blame(takt_hunt *h)
{
    h->s->layer = takt_goal_blame(&h->regions[0], h->p,
                                  (takt_case_list){h->group->cases, h->group->count}, h->is_whole);
}

static takt_status run_groups(takt_hunt *h)
{
    takt_search *s = h->s;
    bool is_over = false;
    s->lower = takt_arena_array(&s->arena, h->p->output_count, sizeof *s->lower);
    s->upper = takt_arena_array(&s->arena, h->p->output_count, sizeof *s->upper);
    if (s->lower == NULL || s->upper == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(prepare(h));
    for (size_t i = 0; i < s->group_count && !is_over && s->verdict != TAKT_PROOF_REFUTED; i++) {
        h->group = &s->groups[i];
        TAKT_TRY(takt_mem_grow(h->net->ctx, (void **)&h->group->splits, &h->group->split_capacity,
                               1, sizeof *h->group->splits));
        h->group->splits[h->group->split_count++] =
            (takt_split){.input = UINT32_MAX, .parent = UINT32_MAX};
        h->group->roots = takt_arena_array(&s->arena, h->group->count + 1, sizeof(uint32_t));
        if (h->group->roots == NULL)
            return TAKT_ERR_MEMORY;
        h->group->roots[h->group->root_count++] = 0;
        TAKT_TRY(takt_hunt_group(h, &is_over));
    }
    if (!is_over && h->undecided == 0 && s->verdict != TAKT_PROOF_REFUTED)
        s->verdict = TAKT_PROOF_FOUND;
    else if (s->verdict != TAKT_PROOF_REFUTED)
        blame(h);
    return TAKT_OK;
}

takt_status takt_search_run(const takt_net *net, const takt_property *p, const takt_property *given,
                            const takt_search_options *o, takt_search *s)
{
    takt_ctx *ctx = net->ctx;
    const takt_error before = ctx->error;
    takt_hunt h = {
        .net = net, .p = p, .given = given, .o = o, .s = s, .threads = takt_pool_threads(o->pool)};
    *s = (takt_search){.verdict = TAKT_PROOF_UNKNOWN, .bound = INFINITY};
    takt_arena_init(&s->arena, ctx);
    h.end_ns = ctx->now_ns(ctx->clock_user) + (uint64_t)(fmin(o->deadline_s, 1e9) * 1e9);
    for (size_t i = 0; i < net->count; i++)
        h.slope_count += takt_alpha_is_hinge(&net->nodes[i]) ? net->nodes[i].count : 0;
    h.by_relus = o->method == TAKT_BY_SEARCH && h.slope_count > 0 &&
                 (p->input_count > TAKT_JOINT_INPUTS || takt_hunt_has_few(&h));
    takt_status status = takt_search_groups(s, p);
    if (status == TAKT_OK && s->is_empty)
        s->verdict = TAKT_PROOF_FOUND;
    else if (status == TAKT_OK)
        status = run_groups(&h);
    /* Above 0 it is a bound of the proved part only. */
    if (status == TAKT_ERR_MEMORY && isfinite(s->bound) && s->bound <= 0) {
        ctx->error = before;
        s->is_short = true;
        blame(&h);
        status = TAKT_OK;
    }
    takt_mem_put(ctx, h.stack, h.capacity * sizeof *h.stack);
    for (int i = 0; h.regions != NULL && i < h.threads; i++)
        takt_region_deinit(&h.regions[i]);
    if (status != TAKT_OK)
        takt_search_deinit(s, ctx);
    return status;
}

void takt_search_deinit(takt_search *s, takt_ctx *ctx)
{
    for (size_t i = 0; s->groups != NULL && i < s->group_count; i++)
        takt_mem_put(ctx, s->groups[i].splits,
                     s->groups[i].split_capacity * sizeof *s->groups[i].splits);
    if (s->arena.ctx != NULL)
        takt_arena_deinit(&s->arena);
    *s = (takt_search){0};
}
