/* suppress.c - a scan that takes the best remaining box and drops those that overlap it. */
#include "io/tflite/suppress.h"

#include <math.h>

takt_id takt_tfl_edge(takt_tfl_call *c, takt_id boxes, int64_t k)
{
    return takt_tfl_squeeze(c, takt_slice(c->g, boxes, 1, k, k + 1, 1), 1);
}

static takt_id area(takt_graph *g, const takt_id edge[4])
{
    return takt_mul(g, takt_sub(g, edge[2], edge[0]), takt_sub(g, edge[3], edge[1]));
}

/* Shared part of the chosen box and of each other; 0 where one has no area. */
static takt_id overlaps(takt_tfl_call *c, const takt_id all[4], const takt_id one[4])
{
    takt_graph *g = c->g;
    const takt_id zero = takt_scalar_like(g, all[0], 0);
    const takt_id low_y = takt_binary(g, &takt_op_max, all[0], one[0]),
                  low_x = takt_binary(g, &takt_op_max, all[1], one[1]),
                  high_y = takt_binary(g, &takt_op_min, all[2], one[2]),
                  high_x = takt_binary(g, &takt_op_min, all[3], one[3]);
    const takt_id shared =
        takt_mul(g, takt_binary(g, &takt_op_max, takt_sub(g, high_y, low_y), zero),
                 takt_binary(g, &takt_op_max, takt_sub(g, high_x, low_x), zero));
    const takt_id a = area(g, all), b = area(g, one);
    const takt_id ratio = takt_div(g, shared, takt_sub(g, takt_add(g, a, b), shared));
    const takt_id empty = takt_binary(g, &takt_op_or, takt_binary(g, &takt_op_le, a, zero),
                                      takt_binary(g, &takt_op_le, b, zero));
    return takt_select(g, empty, zero, ratio);
}

static takt_status fill(takt_tfl_call *c, const takt_tfl_suppress *s, takt_graph *body)
{
    const takt_type scores = {.dtype = TAKT_F32, .rank = 1, .dim = {s->n}},
                    boxes = {.dtype = TAKT_F32, .rank = 2, .dim = {s->n, 4}},
                    number = {.dtype = TAKT_I64};
    takt_tfl_call inner = *c;
    inner.g = body;
    const takt_id left = takt_graph_input(body, "left", &scores);
    (void)takt_graph_input(body, "step", &number);
    const takt_id all = takt_graph_input(body, "boxes", &boxes);
    const int64_t first = 0;
    const takt_named_attr axis = {"axis", takt_attr_i64(0)};
    const takt_id best = takt_tfl_op1(&inner, &takt_op_argmax, left, 1, &axis);
    const takt_id top = takt_reduce_over(body, &takt_op_reduce_max, left, &first, 1, false);
    const takt_id chosen = takt_tfl_gather(&inner, all, best, 0);
    takt_id each[4], one[4];
    for (int64_t k = 0; k < 4; k++) {
        each[k] = takt_tfl_edge(&inner, all, k);
        one[k] = takt_tfl_squeeze(&inner, takt_slice(body, chosen, 0, k, k + 1, 1), 0);
    }
    const takt_id ratio = overlaps(&inner, each, one);
    if (ratio == TAKT_NONE || best == TAKT_NONE)
        return body->status;
    const takt_id limit = takt_scalar_like(body, ratio, s->overlap);
    const takt_id near = takt_binary(body, s->is_strict ? &takt_op_gt : &takt_op_ge, ratio, limit);
    const takt_dim line = s->n;
    const takt_named_attr shape = {"shape", takt_attr_shape(&line, 1)};
    const takt_id place = takt_graph_call(body, &takt_op_iota, 0, NULL, 1, &shape);
    const takt_id itself = takt_binary(body, &takt_op_eq, place, best);
    const takt_id gone = takt_binary(body, &takt_op_or, near, itself);
    takt_graph_output(body, "next",
                      takt_select(body, gone, takt_scalar_like(body, left, -INFINITY), left));
    takt_graph_output(body, "index", takt_cast(body, best, TAKT_I32));
    takt_graph_output(body, "score", top);
    return body->status;
}

takt_tfl_chosen takt_tfl_suppressed(takt_tfl_call *c, const takt_tfl_suppress *s)
{
    takt_tfl_chosen out = {TAKT_NONE, TAKT_NONE, TAKT_NONE};
    takt_graph *body;
    const takt_dim line = s->most;
    const takt_named_attr shape = {"shape", takt_attr_shape(&line, 1)};
    if (s->boxes == TAKT_NONE || s->scores == TAKT_NONE || !takt_tfl_good(c))
        return out;
    takt_status status = takt_graph_create(c->ctx, c->g, &body);
    if (status == TAKT_OK)
        status = fill(c, s, body);
    if (status == TAKT_OK) {
        const takt_id in[] = {s->scores, takt_graph_call(c->g, &takt_op_iota, 0, NULL, 1, &shape),
                              s->boxes};
        const takt_named_attr attrs[] = {{"body", takt_attr_graph(body)},
                                         {"carried", takt_attr_i64(1)},
                                         {"sequences", takt_attr_i64(1)}};
        const takt_id all = takt_graph_call(c->g, &takt_op_scan, 3, in, 3, attrs);
        if (all != TAKT_NONE) {
            out.index = takt_graph_get(c->g, all, 1);
            out.score = takt_graph_get(c->g, all, 2);
            out.is_there = takt_binary(c->g, &takt_op_gt, out.score,
                                       takt_scalar_like(c->g, out.score, -INFINITY));
        }
    } else if (c->status == TAKT_OK) {
        c->status = status;
    }
    takt_graph_destroy(body);
    return out;
}
