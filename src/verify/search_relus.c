/* search_relus.c - parts of a box by the sides of its relus.
 *
 * All parts have the bounds of the whole box, but a relu that is on or off is one line. Slopes of
 * the others, and the multipliers of the splits, are chosen by gradient steps that start where
 * those of the enclosing part ended. */
#include <math.h>
#include <string.h>

#include "verify/products.h"
#include "verify/search_hunt.h"

enum { STEPS = 20 };

static takt_status keep_node(takt_hunt *h, const takt_region *r, size_t i)
{
    double **to[] = {&h->base.lo[i], &h->base.hi[i], &h->base.error[i]};
    const double *from[] = {r->lo[i], r->hi[i], r->error[i]};
    const size_t count = h->net->nodes[i].count;
    for (int k = 0; k < 3; k++) {
        if (*to[k] == NULL)
            *to[k] = takt_arena_array(&h->s->arena, count, sizeof(double));
        if (*to[k] == NULL)
            return TAKT_ERR_MEMORY;
        if (!h->has_base)
            memcpy(*to[k], from[k], count * sizeof(double));
        for (size_t j = 0; j < count; j++)
            (*to[k])[j] = k == 0 ? fmax((*to[k])[j], from[k][j]) : fmin((*to[k])[j], from[k][j]);
    }
    return TAKT_OK;
}

/* The errors of products in f32, and behind them what a row costs. */
static takt_status keep_products(takt_hunt *h, const takt_region *r, size_t i)
{
    const size_t count = h->net->nodes[i].count;
    double *least;
    const double *error = takt_products_kept(r, i, &least);
    if (error == NULL)
        return TAKT_OK;
    if (h->products[i] == NULL)
        h->products[i] = takt_arena_array(&h->s->arena, count + 1, sizeof(double));
    if (h->products[i] == NULL)
        return TAKT_ERR_MEMORY;
    memcpy(h->products[i], error, count * sizeof(double));
    h->products[i][count] = *least;
    return TAKT_OK;
}

static void enter_products(const takt_hunt *h, const takt_region *r, size_t i)
{
    const size_t count = h->net->nodes[i].count;
    double *least, *error = takt_products_kept(r, i, &least);
    if (error == NULL)
        return;
    memcpy(error, h->products[i], count * sizeof(double));
    *least = h->products[i][count];
}

takt_status takt_hunt_keep(takt_hunt *h, const takt_region *r)
{
    takt_arena *a = &h->s->arena;
    double ***each[] = {&h->base.lo, &h->base.hi, &h->base.error, &h->products};
    for (int k = 0; k < 4; k++) {
        if (*each[k] == NULL)
            *each[k] = takt_arena_array(a, h->net->count, sizeof **each[k]);
        if (*each[k] == NULL)
            return TAKT_ERR_MEMORY;
    }
    for (size_t i = 0; i < h->net->count; i++) {
        if (!h->net->nodes[i].is_used)
            continue;
        TAKT_TRY(keep_node(h, r, i));
        TAKT_TRY(keep_products(h, r, i));
    }
    h->has_base = true;
    return TAKT_OK;
}

static takt_status prepare(takt_hunt *h, int thread)
{
    takt_arena *a = &h->s->arena;
    takt_region *r = &h->regions[thread];
    TAKT_TRY(takt_alpha_init(r, STEPS));
    h->alphas[thread] = r->alpha;
    r->alpha = NULL;
    h->sides[thread] = takt_arena_array(a, TAKT_ALPHA_SIDES, sizeof **h->sides);
    h->warm[thread] = takt_arena_array(a, h->net->count, sizeof **h->warm);
    TAKT_TRY(takt_leaf_init(a, h->p->input_count, TAKT_ALPHA_SIDES, &h->leaves[thread]));
    return h->sides[thread] == NULL || h->warm[thread] == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
}

takt_status takt_hunt_relus(takt_hunt *h)
{
    takt_arena *a = &h->s->arena;
    const size_t n = (size_t)h->threads;
    if (h->alphas != NULL)
        return TAKT_OK;
    h->alphas = takt_arena_array(a, n, sizeof *h->alphas);
    h->sides = takt_arena_array(a, n, sizeof *h->sides);
    h->warm = takt_arena_array(a, n, sizeof *h->warm);
    h->leaves = takt_arena_array(a, n, sizeof *h->leaves);
    if (h->alphas == NULL || h->sides == NULL || h->warm == NULL || h->leaves == NULL)
        return TAKT_ERR_MEMORY;
    for (int i = 0; i < h->threads; i++)
        TAKT_TRY(prepare(h, i));
    return TAKT_OK;
}

size_t takt_hunt_depth(const takt_group *g, uint32_t split)
{
    size_t depth = 0;
    for (; g->splits[split].parent != UINT32_MAX; split = g->splits[split].parent)
        depth++;
    return depth;
}

/* The sides of the splits that lead to a part, from the whole box on. */
static size_t sides_of(const takt_group *g, uint32_t split, takt_side *sides)
{
    const size_t depth = takt_hunt_depth(g, split);
    for (size_t i = depth; i-- > 0; split = g->splits[split].parent) {
        const takt_split *around = &g->splits[g->splits[split].parent];
        sides[i] = (takt_side){around->relu, around->input, around->first == split ? 1 : -1};
    }
    return depth;
}

/* The side of the latest node: a hollow part has no point if that side's sum, with multiples of the
 * others, is positive. Sums of the kind have no scale, so that this multiplier is 1. */
static void fix_side(takt_alpha *x, double *beta)
{
    x->fixed = 0;
    for (size_t s = 1; s < x->side_count; s++)
        if (x->sides[s].relu > x->sides[x->fixed].relu)
            x->fixed = s;
    beta[x->fixed] = 1;
}

void takt_hunt_enter(takt_hunt *h, takt_job *j, int thread)
{
    takt_region *r = &h->regions[thread];
    takt_alpha *x = r->alpha = h->alphas[thread];
    for (size_t i = 0; i < h->net->count; i++) {
        const size_t bytes = h->net->nodes[i].count * sizeof(double);
        if (!h->net->nodes[i].is_used)
            continue;
        memcpy(r->lo[i], h->base.lo[i], bytes);
        memcpy(r->hi[i], h->base.hi[i], bytes);
        memcpy(r->error[i], h->base.error[i], bytes);
        enter_products(h, r, i);
    }
    x->sides = h->sides[thread];
    x->side_count = sides_of(h->group, j->split, h->sides[thread]);
    for (size_t s = 0; s < x->side_count; s++) {
        const uint32_t source = h->net->nodes[x->sides[s].relu].sources[0];
        double *end = (x->sides[s].sign > 0 ? r->hi : r->lo)[source];
        end[x->sides[s].element] = 0;
    }
    double *slopes = j->slopes;
    size_t open = 0;
    for (size_t i = 0; i < h->net->count; i++) {
        const takt_net_node *n = &h->net->nodes[i];
        for (uint32_t k = 0; takt_alpha_is_hinge(n) && k < n->count; k++)
            open += r->lo[n->sources[0]][k] < 0 && r->hi[n->sources[0]][k] > 0;
        if (n->is_used && (n->kind == TAKT_NET_CURVE || n->kind == TAKT_NET_PAIR))
            takt_region_lines(r, i, NULL);
        h->warm[thread][i] = slopes;
        slopes += takt_alpha_is_hinge(n) ? n->count : 0;
    }
    x->warm = x->side_count > 0 ? h->warm[thread] : NULL;
    x->warm_beta = x->side_count > 0 ? j->beta : NULL;
    x->fixed = SIZE_MAX;
    if (j->is_hollow)
        fix_side(x, j->beta);
    x->stops = true;
    x->steps = open > 0 ? STEPS : 0; /* a leaf has better multipliers (leaf.h) */
    x->is_late = r->is_late;
    x->user = r->late_user;
}

/* Whether a row has no coefficients left at the inputs: it is constant. */
static bool is_flat(const takt_region *r, size_t row)
{
    for (size_t k = 0; k < r->net->port_count; k++) {
        const uint32_t id = r->net->inputs[k], width = r->net->nodes[id].count;
        for (uint32_t i = 0; i < width; i++)
            if (r->rows[id][row * width + i] != 0)
                return false;
    }
    return true;
}

/* The row depends on no input and on none of the open relus. */
static void bound_hollow(takt_hunt *h, takt_job *j, takt_goal *goal, int thread)
{
    takt_region *r = &h->regions[thread];
    const double bound = goal->bound;
    j->is_hollow = true;
    fix_side(r->alpha, j->beta);
    takt_goal_bound(r, h->p, (takt_case_list){j->open, 1}, goal, NULL, NULL);
    goal->bound = fmax(goal->bound, bound);
}

void takt_hunt_leave(takt_hunt *h, takt_job *j, takt_goal *goal, int thread)
{
    takt_region *r = &h->regions[thread];
    takt_alpha *x = r->alpha;
    double *slopes = j->slopes;
    takt_branch branch;
    takt_branch_find(r, goal->row, &branch);
    if (branch.count == 0 && !goal->is_proved && !j->is_hollow && x->side_count > 0 &&
        x->steps > 0 && is_flat(r, goal->row)) {
        bound_hollow(h, j, goal, thread);
        takt_branch_find(r, goal->row, &branch);
    }
    for (size_t i = 0; i < h->net->count; i++) {
        const takt_net_node *n = &h->net->nodes[i];
        if (!takt_alpha_is_hinge(n))
            continue;
        memcpy(slopes, x->slope[i] + goal->row * n->count, n->count * sizeof *slopes);
        slopes += n->count;
    }
    memcpy(j->beta, x->beta + goal->row * TAKT_ALPHA_SIDES, x->side_count * sizeof *j->beta);
    takt_branch_choose(h, j, goal, &branch, thread);
    r->alpha = NULL;
}

takt_status takt_hunt_record(takt_hunt *h, const takt_job *j, takt_split *s)
{
    takt_arena *a = &h->s->arena;
    s->beta_count = takt_hunt_depth(h->group, j->split);
    s->beta = takt_arena_copy(a, j->beta, s->beta_count * sizeof *j->beta);
    uint16_t *slopes = takt_arena_array(a, h->slope_count, sizeof *slopes);
    if (s->beta == NULL || slopes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < h->slope_count; i++)
        slopes[i] = (uint16_t)rint(j->slopes[i] * TAKT_ALPHA_GRID);
    s->slopes = slopes;
    return TAKT_OK;
}

enum { FEW_RELUS = 64 };

bool takt_hunt_has_few(const takt_hunt *h)
{
    bool is_so = h->slope_count <= FEW_RELUS && h->p->center == NULL;
    for (size_t i = 0; i < h->net->count && is_so; i++) {
        const takt_net_node *n = &h->net->nodes[i];
        is_so = !n->is_used || n->kind == TAKT_NET_INPUT || n->kind == TAKT_NET_SUM ||
                takt_alpha_is_hinge(n);
    }
    for (size_t i = 0; i < h->p->case_count && is_so; i++)
        is_so = h->p->cases[i].row_count <= 1;
    return is_so;
}
