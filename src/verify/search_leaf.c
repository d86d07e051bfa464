/* search_leaf.c - parts of a box with no relu left to split: a linear program finds multipliers. */
#include <math.h>
#include <string.h>

#include "verify/search_hunt.h"

/* Coefficients of all inputs in row `row`, concatenated. */
static void take_row(const takt_region *r, size_t row, double *to)
{
    for (size_t i = 0; i < r->net->port_count; i++) {
        const uint32_t id = r->net->inputs[i];
        const size_t count = r->net->nodes[id].count;
        memcpy(to, r->rows[id] + row * count, count * sizeof *to);
        to += count;
    }
}

/* Some sides of one node: sign * z is at most 0. */
static void take_sides(takt_region *r, uint32_t source, const size_t *sides, size_t count,
                       const takt_alpha *x, takt_leaf *leaf)
{
    const uint32_t width = r->net->nodes[source].count;
    takt_region_clear(r, source, count);
    for (size_t i = 0; i < count; i++)
        r->rows[source][i * width + x->sides[sides[i]].element] = x->sides[sides[i]].sign;
    takt_region_back(r, source, count);
    for (size_t i = 0; i < count; i++) {
        take_row(r, i, leaf->row + sides[i] * leaf->inputs);
        leaf->constant[sides[i]] = r->constants[i];
    }
}

static void take_all_sides(takt_region *r, const takt_alpha *x, takt_leaf *leaf)
{
    size_t sides[TAKT_REGION_ROWS];
    for (uint32_t source = 0; source < r->net->count; source++) {
        size_t count = 0;
        for (size_t s = 0; s <= x->side_count; s++) {
            const bool is_end = s == x->side_count;
            if (!is_end && r->net->nodes[x->sides[s].relu].sources[0] == source)
                sides[count++] = s;
            if (count == TAKT_REGION_ROWS || (is_end && count > 0)) {
                take_sides(r, source, sides, count, x, leaf);
                count = 0;
            }
        }
    }
}

/* The sum to be shown positive; returns its constant. */
static double take_cost(takt_hunt *h, takt_region *r, const takt_case *c, size_t row,
                        takt_leaf *leaf)
{
    const takt_case one = {.rows = &c->rows[row], .row_count = 1};
    takt_region_clear(r, h->net->output, 1);
    takt_goal_rows(r, &one, 0);
    takt_region_back(r, h->net->output, 1);
    take_row(r, 0, leaf->cost);
    return r->constants[0];
}

/* Sides may depend on open relus that the case does not depend on: tries each side alone, until one
 * does. */
static void find_by_sides(takt_hunt *h, takt_job *j, size_t row, takt_branch *branch, int thread)
{
    takt_region *r = &h->regions[thread];
    const takt_alpha *x = r->alpha;
    for (size_t s = x->side_count; s-- > 0 && branch->count == 0;) {
        takt_goal goal;
        memset(j->beta, 0, x->side_count * sizeof *j->beta);
        j->beta[s] = 1;
        takt_goal_bound(r, h->p, (takt_case_list){j->open, 1}, &goal, NULL, NULL);
        takt_branch_find(r, row, branch);
    }
}

void takt_hunt_leaf(takt_hunt *h, takt_job *j, takt_goal *goal, int thread)
{
    takt_region *r = &h->regions[thread];
    takt_alpha *x = h->alphas[thread];
    takt_leaf *leaf = &h->leaves[thread];
    const takt_case *c = &h->p->cases[j->open[0]];
    if (c->row_count == 0)
        return;
    leaf->inputs = h->p->input_count;
    leaf->rows = x->side_count;
    leaf->lo = j->lo;
    leaf->hi = j->hi;
    leaf->is_late = r->is_late;
    leaf->user = r->late_user;
    take_all_sides(r, x, leaf);
    const double constant = take_cost(h, r, c, goal->row, leaf), bound = c->rows[goal->row].bound;
    leaf->need = bound - constant + 1e-8 * (1 + fabs(bound) + fabs(constant));
    takt_leaf_solve(leaf);
    memcpy(j->beta, leaf->beta, leaf->rows * sizeof *j->beta);
    x->warm = h->warm[thread];
    x->warm_beta = j->beta;
    x->steps = 0; /* bounded with these multipliers, as in the checker */
    r->alpha = x;
    takt_goal_bound(r, h->p, (takt_case_list){j->open, 1}, goal, NULL, NULL);
    takt_branch branch;
    takt_branch_find(r, goal->row, &branch);
    if (branch.count == 0 && !goal->is_proved)
        find_by_sides(h, j, goal->row, &branch, thread);
    takt_branch_choose(h, j, goal, &branch, thread);
    r->alpha = NULL;
}
