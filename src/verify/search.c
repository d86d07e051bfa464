/* search.c - a property over its boxes: bounds first, then an attack, then splits of inputs.
 *
 * Boxes that are not settled wait on a stack. A batch of the newest is bounded at a time, a task
 * each; what a task finds does not depend on the others, so the same splits are made by any number
 * of threads, and only the deadline depends on the machine.
 */
#include "verify/search.h"

#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "verify/alpha.h"

enum { BATCH = 64, INPUTS = 20, STARTS = 10, STEPS = 30, ALPHA_STEPS = 20 };

/* A box that waits, or is being bounded. */
typedef struct job {
    uint32_t split; /* its place in the group's tree */
    uint32_t input; /* where to split it */
    size_t open_count, proved_count;
    double bound;
    bool is_done, is_broken; /* it was bounded; x breaks the first open case in the net */
    double *lo, *hi, *x;
    uint32_t *open, *proved; /* cases */
} job;

typedef struct hunt {
    const takt_net *net;
    const takt_property *p;
    const takt_property *given; /* the same, with boxes as they were stated: for attacks */
    const takt_search_options *o;
    takt_search *s;
    takt_group *group;
    uint64_t end_ns;
    takt_region *regions; /* one per thread */
    takt_goal **goals;    /* one per thread and case */
    double **scores, **outputs;
    int threads;
    job **stack;
    size_t count, capacity;
    job *batch[BATCH];
    size_t batch_count;
} hunt;

static size_t job_bytes(const hunt *h)
{
    return sizeof(job) + 3 * h->p->input_count * sizeof(double) +
           2 * h->group->count * sizeof(uint32_t);
}

static takt_status job_create(hunt *h, job **out)
{
    void *block;
    TAKT_TRY(takt_mem_zero(h->net->ctx, 1, job_bytes(h), "region", &block));
    job *j = block;
    const size_t n = h->p->input_count;
    j->lo = (double *)(j + 1);
    j->hi = j->lo + n;
    j->x = j->hi + n;
    j->open = (uint32_t *)(j->x + n);
    j->proved = j->open + h->group->count;
    *out = j;
    return TAKT_OK;
}

static void job_destroy(hunt *h, job *j)
{
    if (j != NULL)
        takt_mem_put(h->net->ctx, j, job_bytes(h));
}

static bool is_late(const void *user)
{
    const hunt *h = user;
    takt_ctx *ctx = h->net->ctx;
    return ctx->now_ns(ctx->clock_user) >= h->end_ns ||
           (h->o->is_cancelled != NULL && h->o->is_cancelled(h->o->user));
}

/* ---- one box ---- */

/* The point where the bound of the first open case is worst: often the one that breaks it. */
static void try_worst(hunt *h, job *j, takt_region *r, const takt_goal *goal, int thread)
{
    takt_case c = h->given->cases[j->open[0]];
    takt_attack a = {.region = r, .property = h->given, .x = j->x, .y = h->outputs[thread]};
    const takt_case one = {.rows = &c.rows[goal->row], .row_count = c.row_count > 0 ? 1 : 0};
    takt_region_clear(r, h->net->output, 1);
    takt_goal_rows(r, &one, 0);
    takt_region_back(r, h->net->output, 1);
    for (size_t k = 0, at = 0; k < h->net->port_count; k++) {
        const uint32_t id = h->net->inputs[k];
        for (uint32_t i = 0; i < h->net->nodes[id].count; i++, at++) {
            const double x = r->rows[id][i] > 0 ? j->lo[at] : j->hi[at];
            /* The nearest f32 that is not outside. */
            float f = (float)x;
            if ((double)f > c.hi[at])
                f = nextafterf(f, -INFINITY);
            if ((double)f < c.lo[at])
                f = nextafterf(f, INFINITY);
            j->x[at] = (double)f;
        }
    }
    takt_attack_outputs(&a);
    j->is_broken = takt_goal_breaks(&c, j->x, a.y);
}

static void bound_task(void *user, size_t task, int thread)
{
    hunt *h = user;
    job *j = h->batch[task];
    takt_region *r = &h->regions[thread];
    takt_goal *goals = h->goals[thread];
    double *scores = h->scores[thread];
    if (is_late(h))
        return;
    takt_region_box(r, j->lo, j->hi);
    takt_region_bound(r, h->o->method != TAKT_BY_IBP);
    if (j->split == 0 && h->group == h->s->groups)
        takt_goal_outputs(r, h->o->method != TAKT_BY_IBP, h->s->lower, h->s->upper);
    memset(scores, 0, h->p->input_count * sizeof *scores);
    takt_goal_bound(r, h->p, (takt_case_list){j->open, j->open_count}, goals, scores, NULL);
    size_t kept = 0, worst = 0;
    j->bound = INFINITY;
    for (size_t i = 0; i < j->open_count; i++) {
        j->bound = fmin(j->bound, goals[i].bound);
        if (goals[i].is_proved) {
            j->proved[j->proved_count++] = j->open[i];
            continue;
        }
        if (kept == 0)
            worst = i;
        j->open[kept++] = j->open[i];
    }
    j->open_count = kept;
    j->is_done = true;
    if (kept == 0)
        return;
    j->input = takt_goal_split(j->lo, j->hi, scores, h->p->input_count);
    if (h->o->method == TAKT_BY_SEARCH && r->alpha == NULL)
        try_worst(h, j, r, &goals[worst], thread);
}

/* ---- the stack ---- */

static takt_status push(hunt *h, job *j)
{
    const takt_status status = takt_mem_grow(h->net->ctx, (void **)&h->stack, &h->capacity,
                                             h->count + 1, sizeof *h->stack);
    if (status == TAKT_OK)
        h->stack[h->count++] = j;
    else
        job_destroy(h, j);
    return status;
}

static takt_status split(hunt *h, const job *j)
{
    takt_group *g = h->group;
    TAKT_TRY(takt_mem_grow(h->net->ctx, (void **)&g->splits, &g->split_capacity, g->split_count + 2,
                           sizeof *g->splits));
    const double at = 0.5 * (j->lo[j->input] + j->hi[j->input]);
    takt_split *own = &g->splits[j->split];
    own->input = j->input;
    own->first = (uint32_t)g->split_count;
    own->at = at;
    for (int side = 0; side < 2; side++) {
        job *half;
        g->splits[g->split_count] = (takt_split){.input = UINT32_MAX};
        TAKT_TRY(job_create(h, &half));
        memcpy(half->lo, j->lo, 2 * h->p->input_count * sizeof(double));
        memcpy(half->open, j->open, j->open_count * sizeof *j->open);
        half->open_count = j->open_count;
        half->split = (uint32_t)g->split_count++;
        half->bound = j->bound;
        (side == 0 ? half->hi : half->lo)[j->input] = at;
        TAKT_TRY(push(h, half));
    }
    return TAKT_OK;
}

static takt_status take(hunt *h, size_t case_index, const double *x, const double *y)
{
    takt_search *s = h->s;
    s->x = takt_arena_copy(&s->arena, x, h->p->input_count * sizeof *x);
    s->y = takt_arena_copy(&s->arena, y, h->p->output_count * sizeof *y);
    s->case_index = case_index;
    s->verdict = TAKT_PROOF_REFUTED;
    return s->x == NULL || s->y == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
}

/* The model itself decides whether x is one. */
static takt_status confirm(hunt *h, size_t case_index, const double *x)
{
    bool breaks = false;
    double *y = h->outputs[0];
    TAKT_TRY(h->o->confirm(h->o->user, &h->given->cases[case_index], x, y, &breaks));
    return breaks ? take(h, case_index, x, y) : TAKT_OK;
}

static takt_status keep_proved(hunt *h, const job *j)
{
    takt_split *s = &h->group->splits[j->split];
    if (j->proved_count == 0)
        return TAKT_OK;
    s->proved = takt_arena_copy(&h->s->arena, j->proved, j->proved_count * sizeof *j->proved);
    s->proved_count = s->proved != NULL ? j->proved_count : 0;
    return s->proved != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* What follows from a box that was bounded. */
static takt_status settle(hunt *h, job *j, bool *is_over)
{
    takt_search *s = h->s;
    if (!j->is_done) { /* too late */
        s->bound = fmin(s->bound, j->bound);
        *is_over = true;
        return TAKT_OK;
    }
    s->regions++;
    TAKT_TRY(keep_proved(h, j));
    if (j->open_count == 0) {
        s->bound = fmin(s->bound, j->bound);
        return TAKT_OK;
    }
    if (j->is_broken)
        TAKT_TRY(confirm(h, j->open[0], j->x));
    const double width = j->hi[j->input] - j->lo[j->input];
    const bool can_split = h->o->method == TAKT_BY_SEARCH && h->p->input_count <= INPUTS &&
                           width > 1e-9 * (fabs(j->lo[j->input]) + fabs(j->hi[j->input]));
    if (s->verdict == TAKT_PROOF_REFUTED || !can_split) {
        s->bound = fmin(s->bound, j->bound);
        *is_over = true;
        return TAKT_OK;
    }
    return split(h, j);
}

static takt_status run_batch(hunt *h, bool *is_over)
{
    takt_status status = TAKT_OK;
    h->batch_count = h->count < BATCH ? h->count : BATCH;
    for (size_t i = 0; i < h->batch_count; i++)
        h->batch[i] = h->stack[--h->count];
    takt_pool_share(h->o->pool, bound_task, h, h->batch_count);
    for (size_t i = 0; i < h->batch_count; i++) {
        if (status == TAKT_OK && h->s->verdict != TAKT_PROOF_REFUTED)
            status = settle(h, h->batch[i], is_over);
        job_destroy(h, h->batch[i]);
    }
    return status;
}

static takt_status attack(hunt *h, job *root, bool *is_over)
{
    takt_attack a = {.region = &h->regions[0],
                     .property = h->given,
                     .x = root->x,
                     .y = h->outputs[0],
                     .seed = 29};
    for (size_t i = 0; i < root->open_count && !*is_over && !is_late(h); i++)
        if (takt_attack_case(&a, &h->given->cases[root->open[i]], STARTS, STEPS)) {
            TAKT_TRY(confirm(h, root->open[i], root->x));
            *is_over = h->s->verdict == TAKT_PROOF_REFUTED;
        }
    return TAKT_OK;
}

/* The whole box once more, with slopes that are chosen row by row. */
static takt_status improve(hunt *h, job *root)
{
    takt_region *r = &h->regions[0];
    TAKT_TRY(takt_alpha_init(r, ALPHA_STEPS));
    r->alpha->is_late = is_late;
    r->alpha->user = h;
    root->is_done = false;
    bound_task(h, 0, 0);
    root->is_done = true; /* it was, without them */
    r->alpha = NULL;
    return TAKT_OK;
}

/* The whole box; what is left open of it is attacked before it is split. */
static takt_status begin(hunt *h, bool *is_over)
{
    job *root;
    TAKT_TRY(job_create(h, &root));
    const size_t bytes = h->p->input_count * sizeof(double);
    memcpy(root->lo, h->group->box->lo, bytes);
    memcpy(root->hi, h->group->box->hi, bytes);
    memcpy(root->open, h->group->cases, h->group->count * sizeof *root->open);
    root->open_count = h->group->count;
    root->bound = -INFINITY;
    h->batch[0] = root;
    bound_task(h, 0, 0);
    takt_status status = TAKT_OK;
    if (root->is_done && root->open_count > 0 && h->o->method == TAKT_BY_SEARCH)
        status = attack(h, root, is_over);
    const bool may_split = h->o->method == TAKT_BY_SEARCH && h->p->input_count <= INPUTS;
    if (status == TAKT_OK && !*is_over && root->open_count > 0 && root->is_done &&
        (h->o->method == TAKT_BY_ALPHA || h->o->method == TAKT_BY_SEARCH) && !may_split)
        status = improve(h, root);
    if (status == TAKT_OK && h->s->verdict != TAKT_PROOF_REFUTED)
        status = settle(h, root, is_over);
    job_destroy(h, root);
    return status;
}

/* ---- groups ---- */

static takt_status run_group(hunt *h, bool *is_over)
{
    takt_status status = begin(h, is_over);
    while (status == TAKT_OK && h->count > 0 && !*is_over && h->s->verdict != TAKT_PROOF_REFUTED)
        status = run_batch(h, is_over);
    while (h->count > 0) {
        h->s->bound = fmin(h->s->bound, h->stack[h->count - 1]->bound);
        job_destroy(h, h->stack[--h->count]);
    }
    return status;
}

static takt_status prepare(hunt *h)
{
    takt_arena *a = &h->s->arena;
    const size_t n = (size_t)h->threads;
    h->regions = takt_arena_array(a, n, sizeof *h->regions);
    h->goals = takt_arena_array(a, n, sizeof *h->goals);
    h->scores = takt_arena_array(a, n, sizeof *h->scores);
    h->outputs = takt_arena_array(a, n, sizeof *h->outputs);
    if (h->regions == NULL || h->goals == NULL || h->scores == NULL || h->outputs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        TAKT_TRY(takt_region_init(h->net, &h->regions[i]));
        h->regions[i].by_intervals = h->o->method == TAKT_BY_IBP;
        h->regions[i].is_late = is_late;
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

static takt_status run_groups(hunt *h)
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
        h->group->splits[h->group->split_count++] = (takt_split){.input = UINT32_MAX};
        TAKT_TRY(run_group(h, &is_over));
    }
    if (!is_over && s->verdict != TAKT_PROOF_REFUTED)
        s->verdict = TAKT_PROOF_FOUND;
    else if (s->verdict != TAKT_PROOF_REFUTED)
        s->layer = takt_goal_blame(&h->regions[0], h->p,
                                   (takt_case_list){h->group->cases, h->group->count},
                                   h->o->method != TAKT_BY_IBP);
    return TAKT_OK;
}

takt_status takt_search_run(const takt_net *net, const takt_property *p, const takt_property *given,
                            const takt_search_options *o, takt_search *s)
{
    takt_ctx *ctx = net->ctx;
    hunt h = {
        .net = net, .p = p, .given = given, .o = o, .s = s, .threads = takt_pool_threads(o->pool)};
    *s = (takt_search){.verdict = TAKT_PROOF_UNKNOWN, .bound = INFINITY};
    takt_arena_init(&s->arena, ctx);
    h.end_ns = ctx->now_ns(ctx->clock_user) + (uint64_t)(fmin(o->deadline_s, 1e9) * 1e9);
    takt_status status = takt_search_groups(s, p);
    if (status == TAKT_OK && s->is_empty)
        s->verdict = TAKT_PROOF_FOUND;
    else if (status == TAKT_OK)
        status = run_groups(&h);
    while (h.count > 0)
        job_destroy(&h, h.stack[--h.count]);
    takt_mem_put(ctx, h.stack, h.capacity * sizeof *h.stack);
    for (int i = 0; h.regions != NULL && i < h.threads; i++)
        takt_region_deinit(&h.regions[i]);
    if (status != TAKT_OK)
        takt_search_deinit(s, ctx);
    return status;
}
