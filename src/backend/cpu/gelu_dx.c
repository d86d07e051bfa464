/* gelu_dx.c - element-wise steps that are the gradient of gelu, as one kernel.
 *
 * The gradient (op/gelu.c) is recognised node by node, factors of sums and products in either
 * order, which changes no bit; if a node is missing or added, the tile program runs instead.
 */
#include "backend/cpu/gelu_dx.h"

enum { NODES = 11 };

typedef struct finder {
    takt_map_match m;
    takt_gelu_dx_facts *f;
    takt_id x;
} finder;

/* (erf(x * root_half) + 1) * half: sets x. */
static bool is_level(finder *w, takt_id id)
{
    takt_gelu_dx_facts *f = w->f;
    const takt_id sum = takt_map_match_with(&w->m, id, &takt_op_mul, &f->half);
    const takt_id erf =
        sum == TAKT_NONE ? sum : takt_map_match_with(&w->m, sum, &takt_op_add, &f->one);
    const takt_node *n = erf == TAKT_NONE ? NULL : takt_map_match_node(&w->m, erf, &takt_op_erf);
    w->x =
        n == NULL ? TAKT_NONE : takt_map_match_with(&w->m, n->in[0], &takt_op_mul, &f->root_half);
    return w->x != TAKT_NONE;
}

/* exp(x * x * minus_half) * density. */
static bool is_rise(const finder *w, takt_id id)
{
    takt_gelu_dx_facts *f = w->f;
    const takt_id exp = takt_map_match_with(&w->m, id, &takt_op_mul, &f->density);
    const takt_node *n = exp == TAKT_NONE ? NULL : takt_map_match_node(&w->m, exp, &takt_op_exp);
    const takt_id inner =
        n == NULL ? TAKT_NONE : takt_map_match_with(&w->m, n->in[0], &takt_op_mul, &f->minus_half);
    const takt_node *square =
        inner == TAKT_NONE ? NULL : takt_map_match_node(&w->m, inner, &takt_op_mul);
    return square != NULL && square->in[0] == w->x && square->in[1] == w->x &&
           takt_map_match_full(&w->m, square, 0, &f->x);
}

/* x * rise. */
static bool is_bend(const finder *w, takt_id id)
{
    const takt_node *n = takt_map_match_node(&w->m, id, &takt_op_mul);
    for (int k = 0; n != NULL && k < 2; k++)
        if (n->in[k] == w->x && is_rise(w, n->in[1 - k]))
            return true;
    return false;
}

/* level + x * rise. */
static bool is_slope(finder *w, takt_id id)
{
    const takt_node *n = takt_map_match_node(&w->m, id, &takt_op_add);
    for (int k = 0; n != NULL && k < 2; k++)
        if (is_level(w, n->in[k]) && is_bend(w, n->in[1 - k]))
            return true;
    return false;
}

bool takt_gelu_dx_find(const takt_planner *p, const takt_map_program *program,
                       takt_gelu_dx_facts *f)
{
    finder w = {.m = takt_map_match_of(p, program), .f = f};
    *f = (takt_gelu_dx_facts){.program = program};
    if (w.m.count != NODES || p->step->out_count != 1 || program->code[NODES - 1].out != 0)
        return false;
    const takt_id last = w.m.nodes[NODES - 1];
    const takt_node *n = takt_map_match_node(&w.m, last, &takt_op_mul);
    for (int k = 0; n != NULL && n->type->dtype == TAKT_F32 && k < 2; k++)
        if (takt_map_match_full(&w.m, n, k, &f->dy) && is_slope(&w, n->in[1 - k]))
            return true;
    return false;
}

static const float *floats(const takt_step *s, const takt_task *t, int in)
{
    return takt_view_data(t, &s->in[in]);
}

void takt_gelu_dx_run(const takt_gelu_dx_facts *f, const takt_step *s, const takt_task *t,
                      size_t first, size_t end)
{
    enum { POLLED = 16 * TAKT_MAP_TILE }; /* elements between two checks of the clock */
    takt_gelu_dx_f32 g = {.root_half = *floats(s, t, f->root_half),
                          .one = *floats(s, t, f->one),
                          .half = *floats(s, t, f->half),
                          .minus_half = *floats(s, t, f->minus_half),
                          .density = *floats(s, t, f->density)};
    if (!(g.minus_half <= 0)) { /* the kernel's exp is made for that range */
        takt_map_run(f->program, s, t, t->scratch_own, first, end);
        return;
    }
    for (; first < end && !takt_poll_stops(t->poll); first += g.n) {
        g.n = end - first < POLLED ? end - first : POLLED;
        g.x = floats(s, t, f->x) + first;
        g.dy = floats(s, t, f->dy) + first;
        g.to = (float *)takt_view_data(t, &s->out[0]) + first;
        f->run(&g);
    }
}
