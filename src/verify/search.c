/* search.c - a property over its boxes: bounds first, then an attack, then splits of inputs, or, if
 * there are many of these, of relus.
 *
 * Undecided boxes wait on a stack. The newest are bounded in batches, one task each; the result of
 * a task does not depend on the others, so any number of threads makes the same splits, and only
 * the deadline depends on the machine. */
#include "verify/search_hunt.h"

#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"

enum { INPUTS = TAKT_JOINT_INPUTS, STARTS = 10, STEPS = 30, ALPHA_STEPS = 20 };
enum { WIDE = 4096 };       /* parts on the stack; below that the oldest alternate */
enum { UNDECIDED = 10000 }; /* parts too narrow to split; a violation may be found elsewhere */

static size_t job_bytes(const takt_hunt *h)
{
    const size_t relus = h->by_relus ? h->slope_count + TAKT_ALPHA_SIDES : 0;
    return sizeof(takt_job) + (3 * h->p->input_count + 2 * h->node_count + relus) * sizeof(double) +
           2 * h->group->count * sizeof(uint32_t);
}

static takt_status job_create(takt_hunt *h, takt_job **out)
{
    void *block;
    TAKT_TRY(takt_mem_zero(h->net->ctx, 1, job_bytes(h), "region", &block));
    takt_job *j = block;
    const size_t n = h->p->input_count;
    j->sure = INFINITY;
    j->lo = (double *)(j + 1);
    j->hi = j->lo + n;
    j->x = j->hi + n;
    j->nodes = j->x + n;
    j->slopes = j->nodes + 2 * h->node_count;
    j->beta = j->slopes + (h->by_relus ? h->slope_count : 0);
    j->open = (uint32_t *)(j->beta + (h->by_relus ? TAKT_ALPHA_SIDES : 0));
    j->proved = j->open + h->group->count;
    *out = j;
    return TAKT_OK;
}

static void job_destroy(takt_hunt *h, takt_job *j)
{
    if (j != NULL)
        takt_mem_put(h->net->ctx, j, job_bytes(h));
}

bool takt_hunt_is_late(const void *user)
{
    const takt_hunt *h = user;
    takt_ctx *ctx = h->net->ctx;
    return ctx->now_ns(ctx->clock_user) >= h->end_ns ||
           (h->o->is_cancelled != NULL && h->o->is_cancelled(h->o->user));
}

/* ---- the stack ---- */

static takt_status push(takt_hunt *h, takt_job *j)
{
    const takt_status status = takt_mem_grow(h->net->ctx, (void **)&h->stack, &h->capacity,
                                             h->count + 1, sizeof *h->stack);
    if (status == TAKT_OK)
        h->stack[h->count++] = j;
    else
        job_destroy(h, j);
    return status;
}

static takt_status split(takt_hunt *h, const takt_job *j)
{
    takt_group *g = h->group;
    TAKT_TRY(takt_mem_grow(h->net->ctx, (void **)&g->splits, &g->split_capacity, g->split_count + 2,
                           sizeof *g->splits));
    const double at = h->in_tree ? 0 : 0.5 * (j->lo[j->input] + j->hi[j->input]);
    takt_split *own = &g->splits[j->split];
    own->input = j->input;
    own->relu = h->in_tree ? j->relu : UINT32_MAX;
    own->first = (uint32_t)g->split_count;
    own->at = at;
    const size_t depth = h->in_tree ? takt_hunt_depth(g, j->split) : 0;
    for (int side = 0; side < 2; side++) {
        takt_job *half;
        g->splits[g->split_count] = (takt_split){.input = UINT32_MAX, .parent = j->split};
        TAKT_TRY(job_create(h, &half));
        memcpy(half->lo, j->lo, (size_t)((const char *)j->open - (const char *)j->lo));
        memcpy(half->open, j->open, j->open_count * sizeof *j->open);
        half->open_count = j->open_count;
        half->split = (uint32_t)g->split_count++;
        half->bound = j->bound;
        half->is_hollow = j->is_hollow;
        if (!h->in_tree)
            (side == 0 ? half->hi : half->lo)[j->input] = at;
        else
            half->beta[depth] = takt_branch_beta(&j->split_at, side);
        TAKT_TRY(push(h, half));
    }
    return TAKT_OK;
}

static takt_status take(takt_hunt *h, size_t case_index, const double *x, const double *y)
{
    takt_search *s = h->s;
    s->x = takt_arena_copy(&s->arena, x, h->p->input_count * sizeof *x);
    s->y = takt_arena_copy(&s->arena, y, h->p->output_count * sizeof *y);
    if (s->x == NULL || s->y == NULL) /* the bound stays, and the verdict */
        return TAKT_ERR_MEMORY;
    s->case_index = case_index;
    s->verdict = TAKT_PROOF_REFUTED;
    return TAKT_OK;
}

/* The model itself decides whether x is a counterexample. */
static takt_status confirm(takt_hunt *h, size_t case_index, const double *x)
{
    bool breaks = false;
    double *y = h->outputs[0];
    TAKT_TRY(h->o->confirm(h->o->user, &h->given->cases[case_index], x, y, &breaks));
    return breaks ? take(h, case_index, x, y) : TAKT_OK;
}

static takt_status keep_proved(takt_hunt *h, const takt_job *j)
{
    takt_split *s = &h->group->splits[j->split];
    if (j->proved_count == 0)
        return TAKT_OK;
    s->proved = takt_arena_copy(&h->s->arena, j->proved, j->proved_count * sizeof *j->proved);
    s->proved_count = s->proved != NULL ? j->proved_count : 0;
    if (s->proved == NULL)
        return TAKT_ERR_MEMORY;
    return h->in_tree && h->o->keeps_slopes ? takt_hunt_record(h, j, s) : TAKT_OK;
}

static bool can_split(const takt_hunt *h, const takt_job *j)
{
    if (h->o->method != TAKT_BY_SEARCH)
        return false;
    if (h->in_tree)
        return j->relu != UINT32_MAX && takt_hunt_depth(h->group, j->split) < TAKT_ALPHA_SIDES;
    const double width = j->hi[j->input] - j->lo[j->input];
    return !h->by_relus && h->p->input_count <= INPUTS &&
           width > 1e-9 * (fabs(j->lo[j->input]) + fabs(j->hi[j->input]));
}

/* Decides from the bounds of a box: it is proved, refuted, or split. */
static takt_status settle(takt_hunt *h, takt_job *j, bool *is_over)
{
    takt_search *s = h->s;
    if (!j->is_done) { /* too late */
        s->bound = fmin(s->bound, j->bound);
        *is_over = true;
        return TAKT_OK;
    }
    s->regions++;
    s->bound = fmin(s->bound, j->sure);
    TAKT_TRY(keep_proved(h, j));
    if (j->open_count == 0) {
        s->bound = fmin(s->bound, j->bound);
        return TAKT_OK;
    }
    if (j->is_broken)
        TAKT_TRY(confirm(h, j->broken, j->x));
    if (s->verdict == TAKT_PROOF_REFUTED || !can_split(h, j)) {
        s->bound = fmin(s->bound, j->bound);
        h->undecided++;
        *is_over = s->verdict == TAKT_PROOF_REFUTED || h->by_relus || h->undecided >= UNDECIDED;
        return TAKT_OK;
    }
    return split(h, j);
}

static takt_status run_batch(takt_hunt *h, bool *is_over)
{
    takt_status status = TAKT_OK;
    h->is_whole = false;
    h->batch_count = h->count < TAKT_HUNT_BATCH ? h->count : TAKT_HUNT_BATCH;
    const bool is_wide = h->samples != NULL && h->count < WIDE;
    const size_t old = h->undecided > 0 ? h->batch_count / 2 : is_wide ? h->batch_count / 4 : 0;
    memcpy(h->batch, h->stack, old * sizeof *h->stack);
    h->count -= old;
    memmove(h->stack, h->stack + old, h->count * sizeof *h->stack);
    for (size_t i = old; i < h->batch_count; i++)
        h->batch[i] = h->stack[--h->count];
    takt_pool_share(h->o->pool, takt_hunt_bound, h, h->batch_count);
    for (size_t i = 0; i < h->batch_count; i++) {
        if (status == TAKT_OK && h->s->verdict != TAKT_PROOF_REFUTED)
            status = settle(h, h->batch[i], is_over);
        if (status != TAKT_OK)
            h->s->bound = fmin(h->s->bound, h->batch[i]->bound);
        job_destroy(h, h->batch[i]);
    }
    return status;
}

static takt_status attack(takt_hunt *h, takt_job *root, bool *is_over)
{
    takt_attack a = {.region = &h->regions[0],
                     .property = h->given,
                     .x = root->x,
                     .y = h->outputs[0],
                     .seed = 29};
    h->is_whole = false;
    for (size_t i = 0; i < root->open_count && !*is_over && !takt_hunt_is_late(h); i++)
        if (takt_attack_case(&a, &h->given->cases[root->open[i]], STARTS, STEPS)) {
            TAKT_TRY(confirm(h, root->open[i], root->x));
            *is_over = h->s->verdict == TAKT_PROOF_REFUTED;
        }
    return TAKT_OK;
}

/* If splits follow, slopes of the whole box get a quarter of the time. */
static bool is_late_for_box(const void *user)
{
    const takt_hunt *h = user;
    takt_ctx *ctx = h->net->ctx;
    return takt_hunt_is_late(h) || (h->by_relus && ctx->now_ns(ctx->clock_user) >= h->box_end_ns);
}

/* The whole box again, with slopes chosen row by row. */
static takt_status improve(takt_hunt *h, takt_job *root)
{
    takt_region *r = &h->regions[0];
    TAKT_TRY(takt_alpha_init(r, ALPHA_STEPS));
    const uint64_t now = h->net->ctx->now_ns(h->net->ctx->clock_user);
    h->box_end_ns = now + (h->end_ns > now ? (h->end_ns - now) / 4 : 0);
    r->alpha->is_late = is_late_for_box;
    r->alpha->user = h;
    root->is_done = false;
    takt_hunt_bound(h, 0, 0);
    h->is_whole = h->is_whole || root->is_done;
    root->is_done = true; /* bounded, but without them */
    r->alpha = NULL;
    return h->by_relus ? takt_hunt_keep(h, r) : TAKT_OK;
}

/* Slopes for the rows of one case only, with the bounds of the box: a few passes; slopes of all
 * nodes would take longer than the bounds themselves. */
static takt_status try_cases(takt_hunt *h, takt_job *root)
{
    takt_status status = takt_hunt_relus(h);
    size_t kept = 0;
    double least = INFINITY;
    h->in_tree = true;
    for (size_t i = 0; i < root->open_count; i++) {
        takt_job *j = NULL;
        if (status == TAKT_OK)
            status = job_create(h, &j);
        if (status == TAKT_OK) {
            memcpy(j->lo, root->lo, 2 * h->p->input_count * sizeof(double));
            j->open[j->open_count++] = root->open[i];
            h->batch[0] = j;
            takt_hunt_bound(h, 0, 0);
        }
        const double bound = status == TAKT_OK && j->is_done ? j->bound : root->bound;
        least = fmin(least, bound);
        if (status == TAKT_OK && j->is_done && j->open_count == 0) {
            root->sure = fmin(root->sure, bound);
            root->proved[root->proved_count++] = root->open[i];
        } else {
            root->open[kept++] = root->open[i];
        }
        job_destroy(h, j);
    }
    root->open_count = kept;
    root->bound = fmax(root->bound, fmin(least, root->sure));
    h->in_tree = false;
    h->batch[0] = root;
    return status;
}

/* Each remaining case has its own tree: relus that matter to one are irrelevant to another. */
static takt_status run_trees(takt_hunt *h, const takt_job *root, bool *is_over)
{
    takt_group *g = h->group;
    takt_status status = takt_hunt_relus(h);
    h->in_tree = true;
    for (size_t i = 0; i < root->open_count && status == TAKT_OK && !*is_over; i++) {
        takt_job *j;
        status = takt_mem_grow(h->net->ctx, (void **)&g->splits, &g->split_capacity,
                               g->split_count + 1, sizeof *g->splits);
        if (status == TAKT_OK)
            status = job_create(h, &j);
        if (status != TAKT_OK)
            break;
        g->roots[g->root_count++] = j->split = (uint32_t)g->split_count;
        g->splits[g->split_count++] = (takt_split){.input = UINT32_MAX, .parent = UINT32_MAX};
        memcpy(j->lo, root->lo, 2 * h->p->input_count * sizeof(double));
        j->open[j->open_count++] = root->open[i];
        j->bound = root->bound;
        status = push(h, j);
        while (status == TAKT_OK && h->count > 0 && !*is_over)
            status = run_batch(h, is_over);
        *is_over = *is_over || h->s->verdict == TAKT_PROOF_REFUTED;
    }
    h->in_tree = false;
    return status;
}

/* The whole box; what remains open is attacked before it is split. */
static takt_status begin(takt_hunt *h, bool *is_over)
{
    takt_job *root;
    TAKT_TRY(job_create(h, &root));
    const size_t bytes = h->p->input_count * sizeof(double);
    memcpy(root->lo, h->group->box->lo, bytes);
    memcpy(root->hi, h->group->box->hi, bytes);
    memcpy(root->open, h->group->cases, h->group->count * sizeof *root->open);
    root->open_count = h->group->count;
    root->bound = -INFINITY;
    h->batch[0] = root;
    takt_hunt_bound(h, 0, 0);
    h->is_whole = root->is_done;
    h->has_base = false;
    takt_status status = h->by_relus ? takt_hunt_keep(h, &h->regions[0]) : TAKT_OK;
    if (status == TAKT_OK && root->is_done && root->open_count > 0 &&
        h->o->method == TAKT_BY_SEARCH)
        status = attack(h, root, is_over);
    /* A checker has no better slopes for inner nodes, so if it must follow, splits do
     * everything. */
    const bool may_split = h->o->method == TAKT_BY_SEARCH &&
                           (h->p->input_count <= INPUTS || (h->by_relus && h->o->keeps_slopes));
    if (status == TAKT_OK && !*is_over && root->open_count > 0 && root->is_done && h->by_relus &&
        !may_split)
        status = try_cases(h, root);
    if (status == TAKT_OK && !*is_over && root->open_count > 0 && root->is_done &&
        (h->o->method == TAKT_BY_ALPHA || h->o->method == TAKT_BY_SEARCH) && !may_split)
        status = improve(h, root);
    const bool has_trees = h->by_relus && root->is_done && !*is_over && root->open_count > 0;
    if (status == TAKT_OK && has_trees) {
        h->s->regions++;
        h->s->bound = fmin(h->s->bound, root->sure);
        status = keep_proved(h, root);
        if (status == TAKT_OK)
            status = run_trees(h, root, is_over);
    } else if (status == TAKT_OK && h->s->verdict != TAKT_PROOF_REFUTED) {
        status = settle(h, root, is_over);
    }
    if (status != TAKT_OK) {
        h->s->bound = fmin(h->s->bound, root->bound);
        h->s->regions += h->s->regions == 0 && root->is_done;
    }
    job_destroy(h, root);
    return status;
}

takt_status takt_hunt_group(takt_hunt *h, bool *is_over)
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
