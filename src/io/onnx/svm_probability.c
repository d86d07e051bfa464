/* svm_probability.c - probabilities of classes from machines for pairs of them.
 *
 * T.-F. Wu, C.-J. Lin, R. Weng, "Probability estimates for multi-class classification by pairwise
 * coupling" (2004), second method, as in libsvm: p minimises p'Qp on the simplex, found by
 * coordinate steps that stop at 0.005 / classes. Where it stops is part of the result (the third
 * digit), so every row keeps its value from when it converged, while the loop continues for others.
 */
#include "io/onnx/svm.h"

enum { CLASSES = 128, TURNS = 100 };

typedef struct coupling {
    takt_graph *g;
    int64_t classes;
    takt_id q;  /* [rows, classes, classes] */
    takt_id p;  /* [rows, classes, 1] */
    takt_id qp; /* Q p, [rows, classes, 1] */
    takt_id s;  /* p'Q p, [rows, 1, 1] */
} coupling;

/* r(i, j) for all pairs, then both triangles: [rows, classes, classes] with 0 on the diagonal. */
static takt_id both_triangles(takt_call *c, takt_id r, int64_t classes)
{
    const size_t n = (size_t)classes;
    const takt_id one = takt_scalar_like(c->g, r, 1);
    const takt_id other = takt_sub(c->g, one, r);
    const takt_id zero = takt_mul_scalar(c->g, takt_slice(c->g, r, 1, 0, 1, 1), 0);
    if (other == TAKT_NONE || zero == TAKT_NONE)
        return TAKT_NONE;
    const takt_id all = takt_concat(c->g, (takt_id[]){r, other, zero}, 3, 1);
    int64_t *at = takt_onnx_get(c, n * n, sizeof *at);
    const int64_t pairs = classes * (classes - 1) / 2;
    if (at == NULL || all == TAKT_NONE)
        return TAKT_NONE;
    int64_t pair = 0;
    for (size_t i = 0; i < n; i++) {
        at[i * n + i] = 2 * pairs;
        for (size_t j = i + 1; j < n; j++, pair++) {
            at[i * n + j] = pair;
            at[j * n + i] = pairs + pair;
        }
    }
    const takt_id index =
        takt_onnx_shape(c, takt_onnx_i64s(c, at, n * n), (int64_t[]){classes, classes}, 2);
    return takt_onnx_gather(c, all, index, 1);
}

/* Q(i, i) = sum of r(j, i)^2 over j; Q(i, j) = -r(j, i) r(i, j). */
static takt_id make_q(takt_call *c, takt_id r, int64_t classes)
{
    takt_graph *g = c->g;
    const size_t n = (size_t)classes;
    const int64_t rows = 1, swap[3] = {0, 2, 1}, dims[2] = {classes, classes};
    double *eye = takt_onnx_get(c, n * n, sizeof *eye);
    if (r == TAKT_NONE || eye == NULL)
        return TAKT_NONE;
    for (size_t i = 0; i < n; i++)
        eye[i * n + i] = 1;
    const takt_id squares = takt_reduce_over(g, &takt_op_reduce_sum_square, r, &rows, 1, true);
    const takt_id products = takt_neg(g, takt_mul(g, r, takt_transpose(g, r, swap, 3)));
    const takt_id is_diagonal =
        takt_onnx_cast(c, takt_onnx_floats(c, TAKT_F32, eye, dims, 2), TAKT_BOOL);
    return takt_select(g, is_diagonal, squares, products);
}

/* ---- the loop's body ---- */

static void start(coupling *k)
{
    const int64_t rows = 1;
    k->qp = takt_matmul(k->g, k->q, k->p, false, false);
    k->s = takt_reduce_over(k->g, &takt_op_reduce_sum, takt_mul(k->g, k->p, k->qp), &rows, 1, true);
}

/* A step along coordinate t: p(t) grows by `diff`, then p is normalised to sum to 1. */
static void step(coupling *k, int64_t t)
{
    takt_graph *g = k->g;
    const takt_id row = takt_slice(g, k->q, 2, t, t + 1, 1); /* Q is symmetric: a column */
    const takt_id qtt = takt_slice(g, row, 1, t, t + 1, 1);
    const takt_id qpt = takt_slice(g, k->qp, 1, t, t + 1, 1);
    const takt_id diff = takt_div(g, takt_sub(g, k->s, qpt), qtt);
    const takt_id by = takt_add_scalar(g, diff, 1);
    const takt_id more =
        takt_mul(g, diff, takt_add(g, takt_mul(g, diff, qtt), takt_mul_scalar(g, qpt, 2)));
    const takt_type like = {.dtype = TAKT_F32, .rank = 2, .dim = {k->classes, 1}};
    takt_tensor e;
    const takt_status status = takt_tensor_create(g->ctx, &like, &e);
    if (status != TAKT_OK) {
        takt_graph_fail_if(g, status);
        return;
    }
    for (int64_t i = 0; i < k->classes; i++)
        ((float *)takt_tensor_data(&e))[i] = i == t;
    const takt_id grown = takt_add(g, k->p, takt_mul(g, diff, takt_graph_constant(g, &e)));
    takt_tensor_release(&e);
    k->s = takt_div(g, takt_div(g, takt_add(g, k->s, more), by), by);
    k->qp = takt_div(g, takt_add(g, k->qp, takt_mul(g, diff, row)), by);
    k->p = takt_div(g, grown, by);
}

/* Inputs: iteration, condition, p, Q; results: whether any row continues, p. */
static takt_status fill_body(takt_graph *body, const takt_type *p, const takt_type *q)
{
    const int64_t inner = 1, all[3] = {0, 1, 2};
    (void)takt_graph_input(body, "iteration", &(takt_type){.dtype = TAKT_I64});
    (void)takt_graph_input(body, "goes_on", &(takt_type){.dtype = TAKT_BOOL});
    coupling k = {.g = body, .classes = p->dim[1]};
    k.p = takt_graph_input(body, "p", p);
    k.q = takt_graph_input(body, "q", q);
    const takt_id before = k.p;
    start(&k);
    const takt_id error = takt_reduce_over(
        body, &takt_op_reduce_max, takt_unary(body, &takt_op_abs, takt_sub(body, k.qp, k.s)),
        &inner, 1, true);
    if (body->status != TAKT_OK)
        return body->status;
    const takt_id goes_on =
        takt_binary(body, &takt_op_ge, error,
                    takt_scalar_like(body, error, (double)(0.005f / (float)k.classes)));
    for (int64_t t = 0; t < k.classes; t++)
        step(&k, t);
    const takt_id any = takt_reduce_over(body, &takt_op_reduce_max,
                                         takt_cast(body, goes_on, TAKT_I32), all, 3, false);
    takt_graph_output(body, "any", takt_cast(body, any, TAKT_BOOL));
    takt_graph_output(body, "p_next", takt_select(body, goes_on, k.p, before));
    return body->status;
}

static takt_id couple(takt_call *c, takt_id q, int64_t classes)
{
    takt_graph *g = c->g, *body;
    const takt_type tq = *takt_type_of(g, q);
    takt_type tp = tq;
    tp.dim[2] = 1;
    takt_id p = takt_onnx_scalar(c, TAKT_F32, 1.0 / (double)classes), y = TAKT_NONE;
    p = takt_broadcast(g, p, tp.dim, 3);
    takt_status status = takt_graph_create(c->ctx, g, &body);
    if (status == TAKT_OK)
        status = fill_body(body, &tp, &tq);
    const takt_id in[] = {takt_scalar_i64(g, TURNS), takt_onnx_scalar(c, TAKT_BOOL, 1), p, q};
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(body)},
                                     {"carried", takt_attr_i64(1)}};
    if (status == TAKT_OK)
        y = takt_graph_call(g, &takt_op_loop, 4, in, 2, attrs);
    takt_graph_fail_if(g, status);
    takt_graph_destroy(body);
    return takt_onnx_squeeze(c, y, 2);
}

takt_id takt_svm_probabilities(takt_call *c, takt_id scores, int64_t classes)
{
    takt_graph *g = c->g;
    const int64_t pairs = classes * (classes - 1) / 2;
    const takt_id a = takt_onnx_attr_floats(c, "prob_a", &pairs, 1);
    const takt_id b = takt_onnx_attr_floats(c, "prob_b", &pairs, 1);
    if (a == TAKT_NONE || b == TAKT_NONE || scores == TAKT_NONE)
        return TAKT_NONE;
    if (classes > CLASSES) {
        (void)takt_onnx_refuse(c, "probabilities of %lld classes, more than %d", (long long)classes,
                               CLASSES);
        return TAKT_NONE;
    }
    const takt_id x = takt_add(g, takt_mul(g, scores, a), b);
    takt_id r = takt_unary(g, &takt_op_sigmoid, takt_neg(g, x));
    if (r == TAKT_NONE)
        return r;
    r = takt_binary(g, &takt_op_max, r, takt_scalar_like(g, r, 1e-7));
    r = takt_binary(g, &takt_op_min, r, takt_scalar_like(g, r, 1 - 1e-7));
    const takt_id q = make_q(c, both_triangles(c, r, classes), classes);
    return q == TAKT_NONE ? q : couple(c, q, classes);
}
