/* search_branch.c - which relu of a part to split.
 *
 * The loss of a relu's lines shows whether it may matter. The few with the greatest loss are tried:
 * both halves are bounded with the slopes of the part, which costs a fraction of optimising slopes
 * for them. */
#include <math.h>

#include "verify/search_hunt.h"

/* The largest error of the line above an open relu, or of the line below it at its better end. */
static double loss_of(const takt_region *r, size_t id, size_t row, uint32_t j)
{
    const takt_net_node *n = &r->net->nodes[id];
    const size_t at = row * n->count + j;
    const double l = r->lo[n->sources[0]][j], u = r->hi[n->sources[0]][j], a = r->rows[id][at];
    const double left = takt_alpha_left(n), slope = r->alpha->slope[id][at];
    if (!(l < 0) || !(u > 0) || !isfinite(l) || !isfinite(u) || a == 0)
        return 0;
    if (a < 0)
        return -a * (1 - left) * (u * -l / (u - l));
    /* Either slope is exact at one end; such a relu comes last, but is not skipped. */
    return a * (fmin((slope - left) * -l, (1 - slope) * u) + 1e-6 * (1 - left) * fmin(-l, u));
}

static void insert(takt_branch *b, takt_candidate one)
{
    size_t at = b->count;
    if (at == TAKT_BRANCH_TRIED && !(one.loss > b->at[at - 1].loss))
        return;
    at -= at == TAKT_BRANCH_TRIED;
    for (; at > 0 && one.loss > b->at[at - 1].loss; at--)
        b->at[at] = b->at[at - 1];
    b->at[at] = one;
    b->count += b->count < TAKT_BRANCH_TRIED;
}

void takt_branch_find(const takt_region *r, size_t row, takt_branch *b)
{
    b->count = 0;
    for (size_t i = 0; i < r->net->count; i++) {
        const takt_net_node *n = &r->net->nodes[i];
        if (!takt_alpha_is_hinge(n) || !r->is_touched[i])
            continue;
        for (uint32_t k = 0; k < n->count; k++) {
            const double loss = loss_of(r, i, row, k);
            if (loss > 0)
                insert(b, (takt_candidate){.relu = (uint32_t)i,
                                           .element = k,
                                           .loss = loss,
                                           .left = takt_alpha_left(n),
                                           .pull = r->rows[i][row * n->count + k],
                                           .slope = r->alpha->slope[i][row * n->count + k]});
        }
    }
}

double takt_branch_beta(const takt_candidate *c, int side)
{
    /* The part's line is the half's plus this much of the side. */
    return fmax(c->pull, 0) * fmax(side == 0 ? c->slope - c->left : 1 - c->slope, 0);
}

/* How much the bound of one half is better than that of the part. */
static double gain_of(takt_hunt *h, takt_job *j, const takt_goal *goal, const takt_candidate *c,
                      int thread, int side)
{
    takt_region *r = &h->regions[thread];
    takt_alpha *x = r->alpha;
    const uint32_t source = h->net->nodes[c->relu].sources[0];
    double *end = &(side == 0 ? r->hi : r->lo)[source][c->element];
    const double before = *end;
    takt_goal half;
    *end = 0;
    takt_region_lines(r, c->relu, NULL);
    h->sides[thread][x->side_count] = (takt_side){c->relu, c->element, side == 0 ? 1 : -1};
    j->beta[x->side_count++] = takt_branch_beta(c, side);
    takt_goal_bound(r, h->p, (takt_case_list){j->open, 1}, &half, NULL, NULL);
    x->side_count--;
    *end = before;
    takt_region_lines(r, c->relu, NULL);
    return fmax((half.is_proved ? 0 : fmin(half.bound, 0)) - goal->bound, 0);
}

void takt_branch_choose(takt_hunt *h, takt_job *j, const takt_goal *goal, const takt_branch *b,
                        int thread)
{
    takt_alpha *x = h->regions[thread].alpha;
    const double least = 1e-6 * fabs(goal->bound);
    double most = -1;
    j->relu = UINT32_MAX;
    x->warm = h->warm[thread];
    x->warm_beta = j->beta;
    x->steps = 0;
    for (size_t i = 0; i < b->count && !goal->is_proved; i++) {
        const takt_candidate *c = &b->at[i];
        double score = 0;
        if (b->count > 1 && x->side_count < TAKT_ALPHA_SIDES && !takt_hunt_is_late(h))
            score = (gain_of(h, j, goal, c, thread, 0) + least) *
                    (gain_of(h, j, goal, c, thread, 1) + least);
        if (!(score > most))
            continue;
        most = score;
        j->relu = c->relu;
        j->input = c->element;
        j->split_at = *c;
    }
}
