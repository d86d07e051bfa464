/* cuda.c - the cuda backend: which nodes have device code, and how a step is made of it.
 *
 * Results have the bits of the cpu backend: kernels add in the order of docs/numerics.md.
 */
#include <stdio.h>
#include <string.h>

#include "backend/cuda/session.h"
#include "backend/cuda/step.h"
#include "backend/kind.h"
#include "backend/list.h"
#include "kernel/cuda/images.h"

static const takt_cuda_kind *const kinds[] = {
    &takt_cuda_map_kind,       &takt_cuda_product_kind,     &takt_cuda_rows_kind,
    &takt_cuda_reduce_kind,    &takt_cuda_move_kind,        &takt_cuda_conv_kind,
    &takt_cuda_attention_kind, &takt_cuda_winograd_kind,    &takt_cuda_picks_kind,
    &takt_cuda_ggml_kind,      &takt_cuda_any_product_kind, &takt_cuda_any_reduce_kind,
    &takt_cuda_lines_kind,     &takt_cuda_scatters_kind,    &takt_cuda_affine_kind,
    &takt_cuda_rand_kind,      &takt_cuda_any_conv_kind,    &takt_cuda_rnn_kind,
    &takt_cuda_body_kind,      &takt_cuda_any_pool_kind,    &takt_cuda_block_kind,
    &takt_cuda_semiring_kind};

enum { KINDS = sizeof kinds / sizeof *kinds };

static takt_accepts_fn *accepts_of(size_t kind)
{
    return kinds[kind]->accepts;
}

static const takt_cuda_kind *find(const takt_graph *g, takt_id node, const char **why)
{
    *why = "there is no device code for this operation";
    const size_t i = takt_kind_find(g, node, accepts_of, KINDS, why);
    return i != SIZE_MAX ? kinds[i] : NULL;
}

const char *takt_cuda_supports(const takt_graph *g, takt_id node)
{
    const char *why;
    return find(g, node, &why) != NULL ? NULL : why;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->keeps != NULL && kinds[i]->keeps(g, n))
            return true;
    return false;
}

static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    const char *why;
    const takt_cuda_kind *kind = find(g, anchor, &why);
    if (kind == NULL || kind->absorbs == NULL)
        return "the step before it takes no epilogue";
    return kind->absorbs(g, anchor, node);
}

static const char *continues(const takt_planner *p, const takt_group *group, takt_id node)
{
    const char *why;
    const takt_cuda_kind *kind = find(p->graph, group->nodes[0], &why);
    return kind != NULL && kind->continues != NULL ? kind->continues(p, group, node) : "";
}

/* ---- steps ---- */

const takt_cuda *takt_cuda_of(const takt_planner *p)
{
    return p->plan->backend_state;
}

takt_cuda_block_room takt_cuda_room(const takt_planner *p)
{
    const takt_cuda *c = takt_cuda_of(p);
    return (takt_cuda_block_room){(uint32_t)c->facts.shared_bytes, (uint32_t)c->facts.processors};
}

takt_status takt_cuda_step_get(takt_planner *p, size_t launches, takt_cuda_step **step)
{
    takt_cuda_step *s = takt_planner_get(p, sizeof *s);
    *step = s;
    if (s == NULL)
        return TAKT_ERR_MEMORY;
    s->count = launches;
    s->launches = takt_planner_get(p, (launches + 1) * sizeof *s->launches);
    p->step->data = s;
    return s->launches != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

void takt_cuda_name_step(takt_planner *p, const takt_cuda_launch *l)
{
    p->step->kernel = l->kernel + sizeof "takt_cuda_" - 1;
}

static takt_status compile(takt_planner *p)
{
    const char *why;
    const takt_id anchor = p->group->nodes[0];
    const takt_cuda_kind *kind = find(p->graph, anchor, &why);
    if (kind == NULL)
        return takt_fail(p->ctx, TAKT_E_INTERNAL, "cuda: %s", why);
    p->step->kind = kind->name;
    TAKT_TRY(kind->compile(p));
    const takt_cuda_step *s = p->step->data;
    const uint32_t has = takt_cuda_room(p).shared_bytes;
    for (size_t i = 0; s->body == NULL && i < s->count; i++)
        if (s->launches[i].shared_bytes > has)
            return takt_fail(p->ctx, TAKT_E_PLAN_LIMIT,
                             "%s needs %u bytes of shared memory a block, and this device has %u: "
                             "run the model on the cpu, or on compute capability 8.0 or above",
                             kind->name, s->launches[i].shared_bytes, has);
    if (s->body != NULL)
        p->step->kernel = "subgraph";
    else if (p->step->kernel == NULL)
        takt_cuda_name_step(p, &s->launches[0]);
    return TAKT_OK;
}

/* ---- the device ---- */

static takt_status open(takt_ctx *ctx, const char *which, int threads, void **state)
{
    takt_cuda_driver driver;
    takt_cuda *c;
    (void)threads;
    *state = NULL;
    const char *why = takt_cuda_targets() == NULL ? "this binary was built without nvcc"
                                                  : takt_cuda_load(&driver);
    if (why != NULL)
        return takt_fail(ctx, TAKT_E_LIBRARY, "backend cuda cannot be used: %s", why);
    TAKT_TRY(takt_cuda_open(ctx, &driver, which, &c));
    *state = c;
    return TAKT_OK;
}

static void close(takt_ctx *ctx, void *state)
{
    (void)ctx;
    takt_cuda_close(state);
}

/* NULL, or why not; facts of the first device otherwise. */
static const char *ask(takt_cuda_facts *f, char *text, size_t size)
{
    takt_cuda_driver driver;
    if (takt_cuda_targets() == NULL)
        return "this binary was built without nvcc";
    const char *why = takt_cuda_load(&driver);
    if (why != NULL)
        return why;
    why = takt_cuda_ask(&driver, 0, f, text, size);
    takt_cuda_unload(&driver);
    return why;
}

/* Constant texts, since a message with numbers would need memory; a plan's error has the numbers.
 */
static const char *available(void)
{
    takt_cuda_facts f;
    char text[256];
    const char *why = ask(&f, text, sizeof text);
    if (why != text)
        return why;
    return f.count > 0 && f.capability > 0 && f.capability < TAKT_CU_OLDEST_CAPABILITY
               ? "the device's compute capability is below 7.5"
           : f.driver > 0 && f.driver < TAKT_CU_OLDEST ? "the driver is older than CUDA 12.0"
                                                       : "the driver does not start";
}

static void tell(const takt_cuda_facts *f, char *to, size_t size)
{
    (void)snprintf(to, size,
                   "%s, %d multiprocessors, %zu GiB, driver for CUDA %d.%d; code for %s in this "
                   "binary",
                   f->name, f->processors, f->memory >> 30, f->driver / 1000, f->driver % 1000 / 10,
                   takt_cuda_targets());
}

static void version(char *to, size_t size)
{
    takt_cuda_facts f;
    char text[256];
    const char *why = ask(&f, text, sizeof text);
    if (why == NULL)
        tell(&f, to, size);
    else
        (void)snprintf(to, size, "%s", why);
}

static void about(const void *state, char *to, size_t size)
{
    const takt_cuda *c = state;
    (void)snprintf(to, size, "device %d, %s", c->facts.ordinal, c->facts.name);
}

/* Measured on an H200, only for decisions: docs/gpu.md. */
static const takt_machine *machine(const void *state, takt_isa_set isas)
{
    static const takt_machine figures = {.flops_per_us = 3e7,
                                         .bytes_per_us = 3.5e6,
                                         .step_us = 0.75,
                                         .segment_us = 8,
                                         .copy_us = 1.5,
                                         .copied_per_us = 2e4};
    (void)state;
    (void)isas;
    return &figures;
}

const takt_backend takt_backend_cuda = {
    .name = "cuda",
    .summary = "NVIDIA GPUs, with the bits of cpu; what has no device code yet runs on cpu",
    .good_for = "large models and batches; small ones wait longer for the device than cpu takes",
    .available = available,
    .version = version,
    .about = about,
    .open = open,
    .close = close,
    .supports = takt_cuda_supports,
    .keeps = keeps,
    .absorbs = absorbs,
    .continues = continues,
    .compile = compile,
    .machine = machine,
    .device = &takt_cuda_memory,
    .session_open = takt_cuda_session_open,
    .session_close = takt_cuda_session_close,
    .enqueue = takt_cuda_enqueue,
    .wait = takt_cuda_wait,
    .session_bind = takt_cuda_session_bind,
    .session_stream = takt_cuda_session_stream,
    .rates = takt_cuda_rates,
    .session_memory = takt_cuda_session_memory,
};
