/* search_bound.c - bounds of one part of a box, and the point where they are worst. */
#include <math.h>
#include <string.h>

#include "verify/search_hunt.h"

/* Whether a point breaks the first open case. */
static void try_point(takt_hunt *h, takt_job *j, const double *point, int thread)
{
    const takt_case *c = &h->given->cases[j->open[0]];
    takt_attack a = {
        .region = &h->regions[thread], .property = h->given, .x = j->x, .y = h->outputs[thread]};
    for (size_t i = 0; i < h->p->input_count; i++) {
        float f = (float)point[i]; /* the nearest f32 that is not outside */
        if ((double)f > c->hi[i])
            f = nextafterf(f, -INFINITY);
        if ((double)f < c->lo[i])
            f = nextafterf(f, INFINITY);
        j->x[i] = (double)f;
    }
    takt_attack_outputs(&a);
    j->is_broken = takt_goal_breaks(c, j->x, a.y);
}

/* The point where row `row` has its bound, of the first open case: often one that breaks it. */
static void try_corner(takt_hunt *h, takt_job *j, takt_region *r, size_t row, int thread)
{
    for (size_t k = 0, at = 0; k < h->net->port_count; k++) {
        const uint32_t id = h->net->inputs[k];
        const double *coefficients = r->rows[id] + row * h->net->nodes[id].count;
        for (uint32_t i = 0; i < h->net->nodes[id].count; i++, at++)
            j->x[at] = coefficients[i] > 0 ? j->lo[at] : j->hi[at];
    }
    try_point(h, j, j->x, thread);
}

static void try_worst(takt_hunt *h, takt_job *j, takt_region *r, const takt_goal *goal, int thread)
{
    const takt_case *c = &h->given->cases[j->open[0]];
    const takt_case one = {.rows = &c->rows[goal->row], .row_count = c->row_count > 0 ? 1 : 0};
    takt_region_clear(r, h->net->output, 1);
    takt_goal_rows(r, &one, 0);
    takt_region_back(r, h->net->output, 1);
    try_corner(h, j, r, 0, thread);
}

/* Bounds of all nodes; those of outputs are for the report. */
static void bound_nodes(takt_hunt *h, const takt_job *j, int thread)
{
    takt_region *r = &h->regions[thread];
    const bool refines = h->o->method != TAKT_BY_IBP;
    if (h->in_tree) {
        takt_hunt_enter(h, j, thread);
        return;
    }
    takt_region_box(r, j->lo, j->hi);
    takt_region_bound(r, refines);
    const bool is_again = r->alpha != NULL && h->o->method == TAKT_BY_SEARCH;
    if (j->split == 0 && h->group == h->s->groups && !is_again)
        takt_goal_outputs(r, refines, h->s->lower, h->s->upper);
}

void takt_hunt_bound(void *user, size_t task, int thread)
{
    takt_hunt *h = user;
    takt_job *j = h->batch[task];
    takt_region *r = &h->regions[thread];
    takt_goal *goals = h->goals[thread];
    double *scores = h->scores[thread];
    if (takt_hunt_is_late(h))
        return;
    bound_nodes(h, j, thread);
    memset(scores, 0, h->p->input_count * sizeof *scores);
    takt_goal_bound(r, h->p, (takt_case_list){j->open, j->open_count}, goals, scores, NULL);
    if (h->in_tree)
        takt_hunt_leave(h, j, goals[0].row, thread);
    const bool is_leaf = h->in_tree && !goals[0].is_proved && j->relu == UINT32_MAX;
    if (is_leaf)
        takt_hunt_leaf(h, j, &goals[0], thread);
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
    if (!h->in_tree)
        j->input =
            takt_goal_split(j->lo, j->hi, scores, h->p->input_count, h->group->box, -j->bound);
    if (is_leaf)
        try_point(h, j, h->leaves[thread].x, thread);
    else if (h->in_tree)
        try_corner(h, j, r, goals[0].row, thread);
    else if (h->o->method == TAKT_BY_SEARCH && !h->by_relus)
        try_worst(h, j, r, &goals[worst], thread);
}
