/* goal.c - evaluates the cases of a property over a region. */
#include "verify/goal.h"

#include <math.h>
#include <string.h>

#include "verify/alpha.h"
#include "verify/joint.h"

/* Terms over inputs are rows of inputs. */
static void add_input(takt_region *r, const takt_term *t, size_t at)
{
    size_t index = t->index;
    for (size_t k = 0; k < r->net->port_count; k++) {
        const uint32_t id = r->net->inputs[k], width = r->net->nodes[id].count;
        if (index < width) {
            r->rows[id][at * width + index] += t->factor;
            return;
        }
        index -= width;
    }
}

void takt_goal_rows(takt_region *r, const takt_case *c, size_t at)
{
    const uint32_t id = r->net->output, width = r->net->nodes[id].count;
    for (size_t k = 0; k < c->row_count; k++)
        for (size_t i = 0; i < c->rows[k].count; i++) {
            const takt_term *t = &c->rows[k].terms[i];
            if (t->is_input)
                add_input(r, t, at + k);
            else
                r->rows[id][(at + k) * width + t->index] += t->factor;
        }
}

/* The least value of half-space k, less its bound. */
static double margin_of(const takt_case *c, size_t k, double least)
{
    const double bound = c->rows[k].bound;
    return least - bound - 0x1p-52 * (fabs(least) + fabs(bound));
}

static void add_scores(const takt_region *r, size_t at, double *scores)
{
    for (size_t k = 0, first = 0; k < r->net->port_count; k++) {
        const uint32_t id = r->net->inputs[k], width = r->net->nodes[id].count;
        for (uint32_t i = 0; i < width; i++)
            scores[first + i] += fabs(r->rows[id][at * width + i]) * (r->hi[id][i] - r->lo[id][i]);
        first += width;
    }
}

/* The loss of the lines, distributed over the inputs that affect each element. It counts more than
 * the linear part: a split reduces the loss of both halves, but raises the linear part of only
 * one. */
static void add_reach(const takt_region *r, size_t at, double *scores)
{
    for (size_t id = 0; id < r->net->count; id++) {
        const takt_net_node *n = &r->net->nodes[id];
        const takt_lines *l = &r->lines[id];
        if (!r->is_touched[id] || n->kind != TAKT_NET_CURVE || r->reach[n->sources[0]] == NULL)
            continue;
        const double *lo = r->lo[n->sources[0]], *hi = r->hi[n->sources[0]];
        for (uint32_t i = 0; i < n->count; i++) {
            const double a = fabs(r->rows[id][at * n->count + i]);
            const double gap = l->above_at[i] - l->below_at[i] +
                               (l->above[0][i] - l->below[0][i]) * 0.5 * (lo[i] + hi[i]);
            const double *reach = r->reach[n->sources[0]] + i * r->input_count;
            double sum = 0;
            enum { LOSS = 4 };
            if (!(a * gap > 0))
                continue;
            for (size_t k = 0; k < r->input_count; k++)
                sum += reach[k];
            for (size_t k = 0; k < r->input_count && sum > 0; k++)
                scores[k] += a * gap * LOSS * (reach[k] / sum);
        }
    }
}

/* The gap of two lines at the middle of the box, times the coefficient. */
static void add_losses(const takt_region *r, size_t at, double *losses)
{
    for (size_t id = 0; id < r->net->count; id++) {
        const takt_net_node *n = &r->net->nodes[id];
        const takt_lines *l = &r->lines[id];
        if (!r->is_touched[id] || (n->kind != TAKT_NET_CURVE && n->kind != TAKT_NET_PAIR))
            continue;
        for (uint32_t i = 0; i < n->count; i++) {
            const double a = fabs(r->rows[id][at * n->count + i]);
            double gap = l->above_at[i] - l->below_at[i];
            for (int k = 0; k < (n->kind == TAKT_NET_PAIR ? 2 : 1); k++)
                gap += (l->above[k][i] - l->below[k][i]) * 0.5 *
                       (r->lo[n->sources[k]][i] + r->hi[n->sources[k]][i]);
            losses[id] += a == 0 ? 0 : a * gap;
        }
    }
}

static void settle(takt_region *r, const takt_case *c, size_t at, takt_goal *goal, double *scores,
                   double *losses)
{
    const double *best = r->best + at;
    *goal = (takt_goal){.bound = -INFINITY};
    for (size_t k = 0; k < c->row_count; k++) {
        const double least = margin_of(c, k, best[k]);
        if (least > goal->bound) {
            goal->bound = least;
            goal->row = k;
        }
        goal->is_proved = goal->is_proved || least > 0 || (c->rows[k].is_strict && least >= 0);
    }
    if (!goal->is_proved && r->joint != NULL && takt_joint_proves(r->joint, r, c, at)) {
        goal->is_proved = true;
        goal->bound = fmax(goal->bound, 0);
    }
    if (goal->is_proved || c->row_count == 0)
        return;
    if (scores != NULL)
        add_scores(r, at + goal->row, scores);
    if (scores != NULL && r->reach != NULL)
        add_reach(r, at + goal->row, scores);
    if (losses != NULL)
        add_losses(r, at + goal->row, losses);
}

static void set_enough(takt_alpha *x, const takt_property *p, takt_case_list cases)
{
    for (size_t i = 0, at = 0; i < cases.count; i++)
        for (size_t k = 0; k < p->cases[cases.at[i]].row_count; k++)
            x->enough[at++] = p->cases[cases.at[i]].rows[k].bound;
}

void takt_goal_bound(takt_region *r, const takt_property *p, takt_case_list open, takt_goal *goals,
                     double *scores, double *losses)
{
    for (size_t i = 0; i < open.count;) {
        size_t rows = 0, last = i;
        while (last < open.count && rows + p->cases[open.at[last]].row_count <= r->capacity)
            rows += p->cases[open.at[last++]].row_count;
        if (last == i) { /* more half-spaces than rows: nothing is known */
            goals[i++] = (takt_goal){.bound = -INFINITY};
            if (r->joint != NULL) /* nor at which points */
                r->joint->is_whole = true;
            continue;
        }
        takt_region_clear(r, r->net->output, rows);
        for (size_t k = i, at = 0; k < last; k++) {
            takt_goal_rows(r, &p->cases[open.at[k]], at);
            at += p->cases[open.at[k]].row_count;
        }
        if (r->alpha != NULL)
            set_enough(r->alpha, p, (takt_case_list){open.at + i, last - i});
        takt_region_best(r, r->net->output, rows, r->best);
        for (size_t at = 0; i < last; i++) {
            settle(r, &p->cases[open.at[i]], at, &goals[i], scores, losses);
            at += p->cases[open.at[i]].row_count;
        }
    }
}

uint32_t takt_goal_split(const double *lo, const double *hi, const double *scores, size_t count,
                         const takt_case *box, double missing)
{
    enum { SHARE = 8 };
    uint32_t best = 0;
    double most = -1;
    for (uint32_t i = 0; i < count; i++) {
        const double width = hi[i] - lo[i], whole = box->hi[i] - box->lo[i];
        double score = isfinite(scores[i]) ? scores[i] + 1e-12 * width : width;
        if (isfinite(missing) && missing > 0 && whole > 0)
            score += missing / SHARE * (width / whole);
        if (score > most && width > 0) {
            most = score;
            best = i;
        }
    }
    return best;
}

void takt_goal_outputs(takt_region *r, bool refines, double *lower, double *upper)
{
    const uint32_t id = r->net->output, width = r->net->nodes[id].count;
    memcpy(lower, r->lo[id], width * sizeof *lower);
    memcpy(upper, r->hi[id], width * sizeof *upper);
    for (size_t first = 0; first < width && refines; first += TAKT_REGION_ROWS / 2) {
        const size_t left = width - first;
        const size_t count = left < TAKT_REGION_ROWS / 2 ? left : TAKT_REGION_ROWS / 2;
        takt_region_clear(r, id, 2 * count);
        for (size_t i = 0; i < count; i++) {
            r->rows[id][2 * i * width + first + i] = 1;
            r->rows[id][(2 * i + 1) * width + first + i] = -1;
        }
        takt_region_best(r, id, 2 * count, r->best);
        for (size_t i = 0; i < count; i++) {
            lower[first + i] = fmax(lower[first + i], r->best[2 * i]);
            upper[first + i] = fmin(upper[first + i], -r->best[2 * i + 1]);
        }
    }
}

const char *takt_goal_blame(takt_region *r, const takt_property *p, takt_case_list cases,
                            bool is_bounded)
{
    const char *label = NULL;
    double most = 0;
    memset(r->losses, 0, r->net->count * sizeof *r->losses);
    if (!is_bounded) {
        takt_region_box(r, p->cases[cases.at[0]].lo, p->cases[cases.at[0]].hi);
        takt_region_bound(r, !r->by_intervals);
    }
    for (size_t i = 0; i < cases.count; i++) {
        takt_goal goal;
        takt_goal_bound(r, p, (takt_case_list){&cases.at[i], 1}, &goal, NULL, r->losses);
    }
    for (size_t i = 0; i < r->net->count; i++)
        if (r->losses[i] > most) {
            most = r->losses[i];
            label = r->net->nodes[i].label;
        }
    return label;
}

static double side(const takt_halfspace *h, const double *x, const double *y)
{
    double sum = -h->bound;
    for (size_t i = 0; i < h->count; i++)
        sum += h->terms[i].factor * (h->terms[i].is_input ? x : y)[h->terms[i].index];
    return sum;
}

bool takt_goal_breaks(const takt_case *c, const double *x, const double *y)
{
    bool breaks = !c->is_empty;
    for (size_t k = 0; k < c->row_count; k++) {
        const double s = side(&c->rows[k], x, y);
        breaks = breaks && (s < 0 || (s == 0 && !c->rows[k].is_strict));
    }
    return breaks;
}

double takt_goal_margin(const takt_case *c, const double *x, const double *y)
{
    double most = -INFINITY;
    for (size_t k = 0; k < c->row_count; k++)
        most = fmax(most, side(&c->rows[k], x, y));
    return most;
}
