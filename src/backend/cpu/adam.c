/* adam.c - element-wise steps that are an update by Adam or AdamW, as one kernel.
 *
 * A tile program reads and writes every value once for each of its seventeen operations. The update
 * (train/optimizer.c) is recognised node by node, factors of sums and products in either order,
 * which changes no bit; if a node is missing or added, the tile program runs instead.
 */
#include "backend/cpu/adam.h"

#include <string.h>

enum { NODES = 16 }; /* of an update without decay and division */

typedef struct finder {
    takt_map_match m;
    takt_adam_facts *f;
} finder;

/* old * beta + step * rest, where `step` may be given; otherwise it is set. */
static bool is_mean(const finder *x, takt_id id, takt_id old, takt_id *step, int *beta, int *rest)
{
    const takt_node *n = takt_map_match_node(&x->m, id, &takt_op_add);
    for (int k = 0; n != NULL && k < 2; k++)
        if (takt_map_match_with(&x->m, n->in[k], &takt_op_mul, beta) == old) {
            *step = takt_map_match_with(&x->m, n->in[1 - k], &takt_op_mul, rest);
            return *step != TAKT_NONE;
        }
    return false;
}

/* old * beta + step * rest * step. */
static bool is_square(const finder *x, takt_id id, takt_id old, takt_id step)
{
    const takt_node *n = takt_map_match_node(&x->m, id, &takt_op_add);
    for (int k = 0; n != NULL && k < 2; k++) {
        const takt_node *part = takt_map_match_node(&x->m, n->in[1 - k], &takt_op_mul);
        if (takt_map_match_with(&x->m, n->in[k], &takt_op_mul, &x->f->beta2) != old || part == NULL)
            continue;
        for (int j = 0; j < 2; j++)
            if (part->in[j] == step &&
                takt_map_match_with(&x->m, part->in[1 - j], &takt_op_mul, &x->f->rest2) == step)
                return true;
    }
    return false;
}

/* The three results: select(is_good, next, old). */
typedef struct results {
    const takt_node *select[TAKT_ADAM_RESULTS];
    int out[TAKT_ADAM_RESULTS];
} results;

static bool find_results(const finder *x, results *r)
{
    size_t found = 0;
    for (size_t i = 0; i < x->m.count; i++) {
        const takt_node *n = &x->m.g->nodes[x->m.nodes[i]];
        const takt_map_instr *code = &x->m.program->code[i];
        const bool is_result = n->op == &takt_op_select && n->type->dtype == TAKT_F32;
        if (is_result != (code->out >= 0) || (is_result && found == TAKT_ADAM_RESULTS))
            return false; /* another result is written */
        if (is_result) {
            r->out[found] = code->out;
            r->select[found++] = n;
        }
    }
    return found == TAKT_ADAM_RESULTS && r->select[0]->in[0] == r->select[1]->in[0] &&
           r->select[0]->in[0] == r->select[2]->in[0];
}

/* The result that `next` becomes; TAKT_ADAM_RESULTS: none. */
static size_t result_of(const results *r, takt_id next)
{
    size_t i = 0;
    while (i < TAKT_ADAM_RESULTS && r->select[i]->in[1] != next)
        i++;
    return i;
}

static bool add_result(const finder *x, const results *r, size_t i, int role)
{
    if (i == TAKT_ADAM_RESULTS)
        return false;
    x->f->result[i].out = r->out[i];
    x->f->result[i].role = role;
    return takt_map_match_full(&x->m, r->select[i], 2, &x->f->result[i].old);
}

/* weight - mean / (sqrt(square) / correction + epsilon) * rate: the nodes of mean and square. */
static bool find_way(const finder *x, const takt_node *sub, takt_id weight, takt_id *mean,
                     takt_id *square)
{
    takt_adam_facts *f = x->f;
    f->keep = -1;
    if (sub->in[0] != weight &&
        takt_map_match_with(&x->m, sub->in[0], &takt_op_mul, &f->keep) != weight)
        return false;
    const takt_id way = takt_map_match_with(&x->m, sub->in[1], &takt_op_mul, &f->rate);
    const takt_node *ratio =
        way == TAKT_NONE ? NULL : takt_map_match_node(&x->m, way, &takt_op_div);
    if (ratio == NULL)
        return false;
    const takt_id root = takt_map_match_with(&x->m, ratio->in[1], &takt_op_add, &f->epsilon);
    const takt_node *corrected =
        root == TAKT_NONE ? NULL : takt_map_match_node(&x->m, root, &takt_op_div);
    if (corrected == NULL || !takt_map_match_scalar(&x->m, corrected, 1, &f->correction))
        return false;
    const takt_node *sqrt = takt_map_match_node(&x->m, corrected->in[0], &takt_op_sqrt);
    *mean = ratio->in[0];
    *square = sqrt != NULL ? sqrt->in[0] : TAKT_NONE;
    return sqrt != NULL;
}

/* Input `k` of the node is the gradient, a sum of two, or a narrow one that is widened. */
static bool is_gradient(const finder *x, const takt_node *n, int k)
{
    const takt_node *sum = takt_map_match_node(&x->m, n->in[k], &takt_op_add);
    x->f->more = -1;
    x->f->widens = false;
    if (sum != NULL)
        return takt_map_match_full(&x->m, sum, 0, &x->f->g) &&
               takt_map_match_full(&x->m, sum, 1, &x->f->more);
    const takt_node *cast = takt_map_match_node(&x->m, n->in[k], &takt_op_cast);
    const takt_map_operand *o = cast != NULL ? takt_map_match_input(&x->m, cast, 0) : NULL;
    x->f->widens = o != NULL && o->widens && o->widen.to == TAKT_F32 && o->is_full;
    if (!x->f->widens)
        return cast == NULL && takt_map_match_full(&x->m, n, k, &x->f->g);
    x->f->g = (int)o->view;
    return true;
}

/* The gradient, or gradient / divisor. */
static bool find_gradient(const finder *x, takt_id step, const takt_node *reader)
{
    const takt_node *n = takt_map_match_node(&x->m, step, &takt_op_div);
    x->f->divisor = -1;
    if (n != NULL)
        return is_gradient(x, n, 0) && takt_map_match_scalar(&x->m, n, 1, &x->f->divisor);
    return is_gradient(x, reader, reader->in[0] == step ? 0 : 1);
}

/* Some node of the group that reads `id`. */
static const takt_node *reader_of(const finder *x, takt_id id)
{
    for (size_t i = 0; i < x->m.count; i++) {
        const takt_node *n = &x->m.g->nodes[x->m.nodes[i]];
        if (n->op == &takt_op_mul && (n->in[0] == id || n->in[1] == id))
            return n;
    }
    return NULL;
}

static bool find(const finder *x)
{
    results r;
    takt_adam_facts *f = x->f;
    size_t last = 0;
    if (!find_results(x, &r))
        return false;
    while (last < TAKT_ADAM_RESULTS &&
           takt_map_match_node(&x->m, r.select[last]->in[1], &takt_op_sub) == NULL)
        last++;
    if (last == TAKT_ADAM_RESULTS || !add_result(x, &r, last, 2))
        return false;
    takt_id mean, square, step = TAKT_NONE;
    const takt_node *sub = &x->m.g->nodes[r.select[last]->in[1]];
    if (!find_way(x, sub, r.select[last]->in[2], &mean, &square))
        return false;
    const size_t m = result_of(&r, mean), v = result_of(&r, square);
    if (!add_result(x, &r, m, 0) || !add_result(x, &r, v, 1) ||
        !is_mean(x, mean, r.select[m]->in[2], &step, &f->beta1, &f->rest1) ||
        !is_square(x, square, r.select[v]->in[2], step))
        return false;
    const takt_node *reader = reader_of(x, step);
    const takt_map_operand *good = takt_map_match_operand(&x->m, r.select[0], 0);
    f->m = f->result[m].old;
    f->v = f->result[v].old;
    f->w = f->result[last].old;
    if (reader == NULL || !find_gradient(x, step, reader) || good == NULL || !good->is_scalar)
        return false;
    f->is_good = (int)good->view;
    return x->m.count ==
           (size_t)NODES + (f->keep >= 0) + (f->divisor >= 0) + (f->more >= 0) + f->widens;
}

bool takt_adam_find(const takt_planner *p, const takt_map_program *program, takt_adam_facts *f)
{
    const finder x = {.m = takt_map_match_of(p, program), .f = f};
    *f = (takt_adam_facts){.program = program};
    return p->group->count >= NODES && p->group->count <= NODES + 3 && find(&x);
}

static const float *floats(const takt_step *s, const takt_task *t, int in)
{
    return in >= 0 ? takt_view_data(t, &s->in[in]) : NULL;
}

/* The step is skipped: all values are kept. */
static void stay(const takt_adam_facts *f, const takt_step *s, const takt_task *t, size_t first,
                 size_t n)
{
    for (size_t i = 0; i < TAKT_ADAM_RESULTS; i++) {
        float *to = (float *)takt_view_data(t, &s->out[f->result[i].out]) + first;
        const float *from = floats(s, t, f->result[i].old) + first;
        if (to != from)
            memmove(to, from, n * sizeof *to);
    }
}

/* Elements from `first` on of the gradient, at most a tile if it is widened. */
static const float *gradient(const takt_adam_facts *f, const takt_step *s, const takt_task *t,
                             size_t first, size_t n)
{
    const takt_view *v = &s->in[f->g];
    const char *data = takt_view_data(t, v);
    data += first * ((size_t)takt_dtype_bits(v->dtype) / 8);
    if (!f->widens)
        return (const float *)(const void *)data;
    f->program->convert(&(takt_convert){.to = TAKT_F32, .from = v->dtype}, t->scratch_own, data, n);
    return t->scratch_own;
}

void takt_adam_run(const takt_adam_facts *f, const takt_step *s, const takt_task *t, size_t first,
                   size_t end)
{
    enum { POLLED = 16 * TAKT_MAP_TILE }; /* elements between two checks of the clock */
    const uint8_t *good = takt_view_data(t, &s->in[f->is_good]);
    float *next[TAKT_ADAM_RESULTS];
    for (size_t i = 0; i < TAKT_ADAM_RESULTS; i++)
        next[f->result[i].role] = takt_view_data(t, &s->out[f->result[i].out]);
    for (size_t n; first < end && !takt_poll_stops(t->poll); first += n) {
        n = f->widens ? TAKT_MAP_TILE : POLLED;
        n = end - first < n ? end - first : n;
        if (*good == 0) {
            stay(f, s, t, first, n);
            continue;
        }
        const takt_adam_f32 a = {.n = n,
                                 .g = gradient(f, s, t, first, n),
                                 .more = f->more >= 0 ? floats(s, t, f->more) + first : NULL,
                                 .m = floats(s, t, f->m) + first,
                                 .v = floats(s, t, f->v) + first,
                                 .w = floats(s, t, f->w) + first,
                                 .divisor = floats(s, t, f->divisor),
                                 .keep = floats(s, t, f->keep),
                                 .correction = floats(s, t, f->correction),
                                 .rate = floats(s, t, f->rate),
                                 .beta1 = *floats(s, t, f->beta1),
                                 .rest1 = *floats(s, t, f->rest1),
                                 .beta2 = *floats(s, t, f->beta2),
                                 .rest2 = *floats(s, t, f->rest2),
                                 .epsilon = *floats(s, t, f->epsilon),
                                 .m_next = next[0] + first,
                                 .v_next = next[1] + first,
                                 .w_next = next[2] + first};
        f->run(&a);
    }
}
