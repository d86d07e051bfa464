/* gelu_dx.c - element-wise steps that are the gradient of gelu, as one kernel.
 *
 * The gradient (op/gelu.c) is recognised node by node, factors of sums and products in either
 * order, which changes no bit; if a node is missing or added, the tile program runs instead. With
 * mixed precision x, dy and the result may be narrow: casts around the kernel, a tile at a time.
 */
#include "backend/cpu/gelu_dx.h"

enum { NODES = 11 };

typedef struct finder {
    takt_map_match m;
    takt_gelu_dx_facts *f;
    takt_id x;
} finder;

/* Input `k` of the node is one f32 for each element, or a narrow float that is widened to it. */
static bool is_operand(const finder *w, const takt_node *n, int k, int *view, takt_convert *widens)
{
    const takt_node *cast = takt_map_match_node(&w->m, n->in[k], &takt_op_cast);
    const takt_map_operand *o = cast != NULL ? takt_map_match_input(&w->m, cast, 0) : NULL;
    *widens = (takt_convert){.to = TAKT_F32, .from = TAKT_F32};
    if (cast == NULL)
        return takt_map_match_full(&w->m, n, k, view);
    if (o == NULL || !o->widens || o->widen.to != TAKT_F32 || !o->is_full)
        return false;
    *widens = o->widen;
    *view = (int)o->view;
    return true;
}

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
           is_operand(w, square, 0, &f->x, &f->x_widens);
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

static bool is_cast(const takt_convert *c)
{
    return c->from != c->to;
}

/* The node of the result before its cast, if it has one. */
static takt_id find_result(finder *w)
{
    const size_t end = w->m.count - 1;
    const takt_node *cast = takt_map_match_node(&w->m, w->m.nodes[end], &takt_op_cast);
    w->f->narrows = (takt_convert){.to = TAKT_F32, .from = TAKT_F32};
    if (cast == NULL)
        return w->m.nodes[end];
    w->f->narrows = w->m.program->code[end].cast;
    return cast->in[0];
}

/* Results between that are written elsewhere: none. */
static bool has_one_result(const finder *w)
{
    for (size_t i = 0; i < w->m.count; i++)
        if ((w->m.program->code[i].out == 0) != (i == w->m.count - 1))
            return false;
    return true;
}

bool takt_gelu_dx_find(const takt_planner *p, const takt_map_program *program,
                       takt_gelu_dx_facts *f)
{
    enum { CASTS = 3, TILES = 2 };
    finder w = {.m = takt_map_match_of(p, program), .f = f};
    *f = (takt_gelu_dx_facts){.program = program};
    if (w.m.count < NODES || w.m.count > NODES + CASTS || p->step->out_count != 1 ||
        !has_one_result(&w))
        return false;
    const takt_node *n = takt_map_match_node(&w.m, find_result(&w), &takt_op_mul);
    bool good = false;
    for (int k = 0; n != NULL && n->type->dtype == TAKT_F32 && k < 2 && !good; k++)
        good = is_operand(&w, n, k, &f->dy, &f->dy_widens) && is_slope(&w, n->in[1 - k]);
    const size_t casts = (size_t)is_cast(&f->x_widens) + is_cast(&f->dy_widens);
    return good && w.m.count == NODES + casts + is_cast(&f->narrows) &&
           f->narrows.from == TAKT_F32 &&
           (w.m.count == NODES || (program->registers >= TILES && program->width == sizeof(float)));
}

static const float *floats(const takt_step *s, const takt_task *t, int in)
{
    return takt_view_data(t, &s->in[in]);
}

/* Some elements of a task. */
typedef struct piece {
    const takt_task *t;
    size_t first, n;
} piece;

/* Those of an operand: in place, or widened in `tile`. */
static const float *operand(const takt_gelu_dx_facts *f, const takt_view *v,
                            const takt_convert *widens, const piece *p, float *tile)
{
    const char *data = takt_view_data(p->t, v);
    data += p->first * ((size_t)takt_dtype_bits(v->dtype) / 8);
    if (!is_cast(widens))
        return (const float *)(const void *)data;
    f->program->convert(widens, tile, data, p->n);
    return tile;
}

/* At most a register of the program if anything is cast. */
static void run_piece(const takt_gelu_dx_facts *f, const takt_step *s, const piece *p,
                      takt_gelu_dx_f32 *g)
{
    float *tile = p->t->scratch_own, *second = tile + takt_map_register(f->program) / sizeof *tile;
    const takt_view *out = &s->out[0];
    char *to = takt_view_data(p->t, out);
    to += p->first * ((size_t)takt_dtype_bits(out->dtype) / 8);
    g->n = p->n;
    g->x = operand(f, &s->in[f->x], &f->x_widens, p, tile);
    g->dy = operand(f, &s->in[f->dy], &f->dy_widens, p, second);
    g->to = is_cast(&f->narrows) ? tile : (float *)(void *)to;
    f->run(g);
    if (is_cast(&f->narrows))
        f->program->convert(&f->narrows, to, tile, p->n);
}

void takt_gelu_dx_run(const takt_gelu_dx_facts *f, const takt_step *s, const takt_task *t,
                      size_t first, size_t end)
{
    enum { POLLED = 16 * TAKT_MAP_TILE }; /* elements between two checks of the clock */
    const bool casts = is_cast(&f->x_widens) || is_cast(&f->dy_widens) || is_cast(&f->narrows);
    const size_t most = casts ? f->program->room : POLLED;
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
        const piece p = {t, first, end - first < most ? end - first : most};
        run_piece(f, s, &p, &g);
    }
}
