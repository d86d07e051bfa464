/* blas.c - matrix products through a CBLAS that is found at run time.
 *
 * Everything else runs on cpu, and every step says why. Results are BLAS's own: its order of
 * arithmetic is not Takt's, so the guarantee of equal bits does not cover this backend.
 */
#include <stdio.h>

#include "backend/blas/cblas.h"
#include "backend/cpu/matrix.h"
#include "backend/list.h"
#include "base/mem.h"
#include "op/ops.h"
#include "plan/backend.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

static takt_status open(takt_ctx *ctx, const char *which, int threads, void **state)
{
    void *block;
    *state = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_cblas), "blas", &block));
    takt_cblas *b = block;
    if (!takt_cblas_open(b, which)) {
        takt_mem_put(ctx, b, sizeof *b);
        takt_fail(ctx, TAKT_E_LIBRARY, "no CBLAS library was found%s%s", which != NULL ? ": " : "",
                  which != NULL ? which : "");
        return takt_fail_hint(ctx, "install libopenblas0, or name a library with --blas: openblas, "
                                   "blis, mkl, cblas or a path");
    }
    b->threads = threads;
    takt_cblas_hold(b);
    *state = b;
    return TAKT_OK;
}

static void close(takt_ctx *ctx, void *state)
{
    takt_cblas_close(state);
    takt_mem_put(ctx, state, sizeof(takt_cblas));
}

/* "openblas (OpenBLAS 0.3.21 ...), 2 threads" */
static void about(const void *state, char *to, size_t size)
{
    const takt_cblas *b = state;
    const int threads = b->get_threads != NULL ? b->get_threads() : 0;
    int at = snprintf(to, size, "%s (%s)", b->name, takt_cblas_version(b));
    if (at < 0 || (size_t)at >= size)
        return;
    if (threads > 0)
        (void)snprintf(to + at, size - (size_t)at, ", %d thread%s", threads,
                       threads == 1 ? "" : "s");
    else
        (void)snprintf(to + at, size - (size_t)at, ", thread count cannot be controlled");
}

static const char *available(void)
{
    takt_cblas b;
    if (takt_cblas_open(&b, NULL)) {
        takt_cblas_close(&b);
        return NULL;
    }
    if (!takt_cblas_open(&b, "cblas"))
        return "no CBLAS library is installed";
    takt_cblas_close(&b);
    return "only the reference BLAS is installed, which is slower than cpu and is not used "
           "unless named: --blas cblas";
}

/* Every library found. */
static void version(char *to, size_t size)
{
    size_t at = 0;
    to[0] = '\0';
    for (size_t i = 0; takt_cblas_name(i) != NULL && at < size; i++) {
        takt_cblas b;
        if (!takt_cblas_open(&b, takt_cblas_name(i)))
            continue;
        const int length = snprintf(to + at, size - at, "%s%s (%s)", at > 0 ? ", " : "", b.name,
                                    takt_cblas_version(&b));
        takt_cblas_close(&b);
        at += length > 0 ? (size_t)length : 0;
    }
}

static bool claims(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_matmul;
}

static const char *supports(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (n->op != &takt_op_matmul)
        return "blas computes matrix products only";
    if (n->type->dtype != TAKT_F32 && n->type->dtype != TAKT_F64)
        return "blas takes f32 and f64 only";
    const takt_product mm = takt_product_of(g, node);
    const size_t most = INT32_MAX;
    return mm.m < most && mm.n < most && mm.k < most && mm.k > 0
               ? NULL
               : "a dimension does not fit an int";
}

/* ---- steps ---- */

typedef struct facts {
    takt_product mm;
    const takt_cblas *blas;
    int ta, tb, lda, ldb;
} facts;

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_product *mm = &f->mm;
    const int m = (int)mm->m, n = (int)mm->n, k = (int)mm->k;
    const size_t size = s->out[0].dtype == TAKT_F32 ? 4 : 8;
    takt_cblas_hold(f->blas);
    for (size_t i = 0; i < mm->batch; i++) {
        size_t a, b;
        takt_product_pair(mm, i, &a, &b);
        const char *x = (const char *)takt_view_data(t, &s->in[0]) + a * mm->m * mm->k * size;
        const char *y = (const char *)takt_view_data(t, &s->in[1]) + b * mm->k * mm->n * size;
        char *z = (char *)takt_view_data(t, &s->out[0]) + i * mm->m * mm->n * size;
        if (size == 4)
            f->blas->sgemm(ROW_MAJOR, f->ta, f->tb, m, n, k, 1, (const float *)(const void *)x,
                           f->lda, (const float *)(const void *)y, f->ldb, 0, (float *)(void *)z,
                           n);
        else
            f->blas->dgemm(ROW_MAJOR, f->ta, f->tb, m, n, k, 1, (const double *)(const void *)x,
                           f->lda, (const double *)(const void *)y, f->ldb, 0, (double *)(void *)z,
                           n);
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    f->mm = takt_product_of(p->graph, id);
    f->blas = p->plan->backend_state;
    f->ta = f->mm.a_col == 1 ? PLAIN : TRANSPOSED;
    f->tb = f->mm.b_col == 1 ? PLAIN : TRANSPOSED;
    f->lda = (int)(f->ta == PLAIN ? f->mm.a_row : f->mm.a_col);
    f->ldb = (int)(f->tb == PLAIN ? f->mm.b_row : f->mm.b_col);
    p->step->kind = "blas";
    p->step->kernel = f->blas->name;
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_backend takt_backend_blas = {
    .name = "blas",
    .summary = "matrix products by OpenBLAS, BLIS or MKL; everything else on cpu",
    .good_for = "large f32 and f64 products, where a tuned library is faster",
    .available = available,
    .version = version,
    .about = about,
    .claims = claims,
    .open = open,
    .close = close,
    .supports = supports,
    .keeps = NULL,
    .compile = compile,
};
