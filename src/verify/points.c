/* points.c - a net at many points at once. */
#include "verify/points.h"

#include <string.h>

#include "op/ops.h"

enum { POINTS = TAKT_POINTS };

takt_status takt_points_init(takt_points *s, const takt_net *net, takt_arena *arena)
{
    *s = (takt_points){.net = net};
    s->values = takt_arena_array(arena, net->count, sizeof *s->values);
    if (s->values == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < net->count; i++) {
        const size_t count = net->nodes[i].is_used ? net->nodes[i].count : 0;
        s->values[i] = takt_arena_array(arena, count * POINTS, sizeof(double));
        if (s->values[i] == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

void takt_points_put(takt_points *s, size_t point, const double *x)
{
    for (size_t k = 0; k < s->net->port_count; k++) {
        const uint32_t id = s->net->inputs[k];
        for (uint32_t i = 0; i < s->net->nodes[id].count; i++)
            s->values[id][i * POINTS + point] = *x++;
    }
}

void takt_points_get(const takt_points *s, size_t point, double *y)
{
    const double *from = s->values[s->net->output];
    for (size_t i = 0; i < s->net->output_count; i++)
        y[i] = from[i * POINTS + point];
}

static inline void add(double *restrict to, const double *restrict x, double factor)
{
    for (size_t p = 0; p < POINTS; p++)
        to[p] += factor * x[p];
}

static void add_dense(double *restrict to, const double *restrict x, const double *restrict w,
                      size_t width)
{
    double sum[POINTS];
    memcpy(sum, to, sizeof sum);
    for (size_t j = 0; j < width; j++)
        for (size_t p = 0; p < POINTS; p++)
            sum[p] += w[j] * x[j * POINTS + p];
    memcpy(to, sum, sizeof sum);
}

static void run_sum(const takt_points *s, size_t id)
{
    const takt_net_node *n = &s->net->nodes[id];
    for (size_t i = 0; i < n->count; i++) {
        double *to = s->values[id] + i * POINTS;
        for (size_t p = 0; p < POINTS; p++)
            to[p] = n->bias != NULL ? n->bias[i] : 0;
        for (size_t k = 0; k < n->part_count; k++) {
            const takt_net_part *part = &n->parts[k];
            const double *x = s->values[part->source];
            const size_t width = s->net->nodes[part->source].count;
            if (part->form == TAKT_NET_DENSE)
                add_dense(to, x, part->values + i * width, width);
            else if (part->form == TAKT_NET_SPARSE)
                for (size_t e = part->starts[i]; e < part->starts[i + 1]; e++)
                    add(to, x + part->columns[e] * POINTS, part->values[e]);
            else if (part->columns[i] != UINT32_MAX)
                add(to, x + part->columns[i] * POINTS,
                    part->factor * (part->values != NULL ? part->values[i] : 1));
        }
    }
}

static void run_function(const takt_points *s, size_t id)
{
    const takt_net_node *n = &s->net->nodes[id];
    takt_scalar scalar = {.attr = n->of->attr, .dtype = TAKT_F64};
    const double *a = s->values[n->sources[0]];
    const double *b = n->kind == TAKT_NET_PAIR ? s->values[n->sources[1]] : a;
    double *to = s->values[id];
    if (n->of->op == &takt_op_relu) {
        for (size_t i = 0; i < n->count * POINTS; i++)
            to[i] = a[i] > 0 ? a[i] : 0;
        return;
    }
    for (size_t i = 0; i < n->count * POINTS; i++)
        to[i] = n->of->op->scalar_f(&scalar, (double[]){a[i], b[i]});
}

void takt_points_run(takt_points *s)
{
    for (size_t i = 0; i < s->net->count; i++) {
        if (!s->net->nodes[i].is_used || s->net->nodes[i].kind == TAKT_NET_INPUT)
            continue;
        if (s->net->nodes[i].kind == TAKT_NET_SUM)
            run_sum(s, i);
        else
            run_function(s, i);
    }
}
