/* search_bound.c - bounds of one part of a box, and the point where they are worst. */
#include <math.h>
#include <string.h>

#include "verify/search_hunt.h"

/* The nearest f32 that is not outside. */
static double nearest(double x, double lo, double hi)
{
    float f = (float)x;
    if ((double)f > hi)
        f = nextafterf(f, -INFINITY);
    if ((double)f < lo)
        f = nextafterf(f, INFINITY);
    return (double)f;
}

/* Whether a point breaks the first open case. */
static void try_point(takt_hunt *h, takt_job *j, const double *point, int thread)
{
    const takt_case *c = &h->given->cases[j->open[0]];
    takt_attack a = {
        .region = &h->regions[thread], .property = h->given, .x = j->x, .y = h->outputs[thread]};
    for (size_t i = 0; i < h->p->input_count; i++)
        j->x[i] = nearest(point[i], c->lo[i], c->hi[i]);
    takt_attack_outputs(&a);
    j->is_broken = takt_goal_breaks(c, j->x, a.y);
    j->broken = j->open[0];
}

/* Numbers in [0, 1) that depend on nothing but the part and how many were drawn. */
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U; /* SplitMix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Whether one of a few points of the box violates an open case: `first`, and random ones. */
static void try_points(takt_hunt *h, takt_job *j, const double *first, int thread)
{
    takt_points *s = &h->samples[thread];
    const takt_case *box = &h->given->cases[j->open[0]];
    const size_t n = h->p->input_count;
    double x[TAKT_POINTS][TAKT_JOINT_INPUTS];
    uint64_t state = j->split;
    for (size_t p = 0; p < TAKT_POINTS; p++) {
        for (size_t i = 0; i < n; i++) {
            const double t = fmin(fmax(1.5 * draw(&state) - 0.25, 0), 1); /* a third: on sides */
            const double at = j->lo[i] + t * (j->hi[i] - j->lo[i]);
            x[p][i] = nearest(p == 0 ? first[i] : at, box->lo[i], box->hi[i]);
        }
        takt_points_put(s, p, x[p]);
    }
    takt_points_run(s);
    for (size_t p = 0; p < TAKT_POINTS && !j->is_broken; p++) {
        takt_points_get(s, p, h->outputs[thread]);
        for (size_t i = 0; i < j->open_count && !j->is_broken; i++) {
            j->broken = j->open[i];
            j->is_broken = takt_goal_breaks(&h->given->cases[j->broken], x[p], h->outputs[thread]);
        }
        if (j->is_broken)
            memcpy(j->x, x[p], n * sizeof *j->x);
    }
}

/* The point where row `row` attains its bound, for the first open case: often a violation. */
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

/* Copies the bounds of refined nodes, `count` elements in all, from the region to `nodes` or back.
 */
static void move_nodes(takt_region *r, double *nodes, size_t count, bool keeps)
{
    const takt_net *net = r->net;
    for (size_t i = 0, at = 0; i < net->count && at < count; i++) {
        const size_t bytes = net->nodes[i].count * sizeof *nodes;
        if (!net->nodes[i].is_used || !net->nodes[i].is_refined)
            continue;
        double *lo = nodes + at, *hi = lo + count;
        memcpy(keeps ? lo : r->lo[i], keeps ? r->lo[i] : lo, bytes);
        memcpy(keeps ? hi : r->hi[i], keeps ? r->hi[i] : hi, bytes);
        at += net->nodes[i].count;
    }
}

/* Bounds of all nodes; those of outputs are for the report. */
static void bound_nodes(takt_hunt *h, takt_job *j, int thread)
{
    takt_region *r = &h->regions[thread];
    const bool refines = h->o->method != TAKT_BY_IBP;
    if (h->in_tree) {
        takt_hunt_enter(h, j, thread);
        return;
    }
    takt_region_box(r, j->lo, j->hi);
    if (j->split != 0 && h->node_count > 0) {
        move_nodes(r, j->nodes, h->node_count, false);
        takt_region_narrow(r);
    } else {
        takt_region_bound(r, refines);
    }
    const bool is_refined = r->alpha != NULL && h->o->method == TAKT_BY_SEARCH;
    if (j->split == 0 && h->group == h->s->groups && !is_refined)
        takt_goal_outputs(r, refines, h->s->lower, h->s->upper);
}

/* Only the remaining part of the box is split. The part that was cut off holds, with an unknown
 * margin. */
static void cut_box(takt_job *j, const takt_joint *joint, double *scores, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double width = j->hi[i] - j->lo[i];
        j->lo[i] = fmax(j->lo[i], joint->lo[i]);
        j->hi[i] = fmin(j->hi[i], joint->hi[i]);
        if (j->hi[i] - j->lo[i] < width)
            j->sure = fmin(j->sure, 0);
        if (width > 0)
            scores[i] *= (j->hi[i] - j->lo[i]) / width;
    }
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
    r->joint = h->joints != NULL ? &h->joints[thread] : NULL;
    if (r->joint != NULL)
        takt_joint_clear(r->joint);
    takt_goal_bound(r, h->p, (takt_case_list){j->open, j->open_count}, goals, scores, NULL);
    if (h->in_tree)
        takt_hunt_leave(h, j, &goals[0], thread);
    const bool is_leaf = h->in_tree && !goals[0].is_proved && j->relu == UINT32_MAX;
    if (is_leaf)
        takt_hunt_leaf(h, j, &goals[0], thread);
    size_t kept = 0, worst = 0;
    j->bound = INFINITY;
    for (size_t i = 0; i < j->open_count; i++) {
        j->bound = fmin(j->bound, goals[i].bound);
        if (goals[i].is_proved) {
            j->sure = fmin(j->sure, goals[i].bound);
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
    move_nodes(r, j->nodes, h->node_count, true);
    if (r->joint != NULL && !r->joint->is_whole)
        cut_box(j, r->joint, scores, h->p->input_count);
    if (!h->in_tree)
        j->input =
            takt_goal_split(j->lo, j->hi, scores, h->p->input_count, h->group->box, -j->bound);
    if (is_leaf)
        try_point(h, j, h->leaves[thread].x, thread);
    else if (h->in_tree)
        try_corner(h, j, r, goals[0].row, thread);
    else if (r->joint != NULL && r->joint->has_point)
        try_points(h, j, r->joint->x, thread);
    else if (h->o->method == TAKT_BY_SEARCH && !h->by_relus)
        try_worst(h, j, r, &goals[worst], thread);
}
