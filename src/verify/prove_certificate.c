/* prove_certificate.c - certificates of proofs: written once the checker has confirmed them. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "verify/alpha.h"
#include "verify/prove.h"
#include "verify/recheck.h"

/* The graph's node of a relu; UINT32_MAX - 1 if it comes from a lowering, which the checker does
 * not do. */
static uint32_t node_of(const takt_prover *v, uint32_t id)
{
    const takt_node *n = v->net.nodes[id].of;
    for (size_t i = 0; i < v->graph->count; i++)
        if (n == &v->graph->nodes[i])
            return (uint32_t)i;
    return UINT32_MAX - 1;
}

/* Slopes of all relus, node by node. */
static takt_status add_slopes(const takt_prover *v, takt_certificate *c, const takt_split *s,
                              takt_cut *cut)
{
    takt_cut_slopes *slopes = takt_arena_array(&c->arena, v->net.count, sizeof *slopes);
    size_t at = 0;
    if (slopes == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < v->net.count; i++) {
        if (!takt_alpha_is_hinge(&v->net.nodes[i]))
            continue;
        slopes[cut->slope_count++] =
            (takt_cut_slopes){node_of(v, i), v->net.nodes[i].count, s->slopes + at};
        at += v->net.nodes[i].count;
    }
    cut->slopes = slopes;
    return TAKT_OK;
}

static takt_status add_cut(const takt_prover *v, takt_certificate *c, const takt_split *s)
{
    takt_cut cut = {.input = s->input,
                    .at = s->at,
                    .proved = s->proved,
                    .proved_count = s->proved_count,
                    .beta = s->beta,
                    .beta_count = s->beta_count};
    if (s->slopes != NULL)
        TAKT_TRY(add_slopes(v, c, s, &cut));
    if (s->input != UINT32_MAX && s->relu != UINT32_MAX) {
        cut.is_relu = true;
        cut.input = node_of(v, s->relu);
        cut.element = s->input;
    }
    TAKT_TRY(takt_mem_grow(v->ctx, (void **)&c->cuts, &c->capacity, c->count + 1, sizeof cut));
    c->cuts[c->count++] = cut;
    return TAKT_OK;
}

/* The tree in traversal order; its depth is bounded by the checker's. */
static takt_status add_tree(const takt_prover *v, takt_certificate *c, const takt_group *g,
                            uint32_t at, int depth)
{
    const takt_split *s = &g->splits[at];
    if (depth > TAKT_CERTIFICATE_DEPTH)
        return TAKT_OK; /* the checker will report a missing box */
    TAKT_TRY(add_cut(v, c, s));
    if (s->input == UINT32_MAX)
        return TAKT_OK;
    TAKT_TRY(add_tree(v, c, g, s->first, depth + 1));
    return add_tree(v, c, g, s->first + 1, depth + 1);
}

static takt_status fill(takt_prover *v, takt_certificate *c)
{
    c->is_real = v->is_real;
    c->model = takt_graph_digest(v->graph);
    takt_property_digest(&v->given, c->property);
    for (size_t i = 0; i < v->search.group_count; i++) {
        const takt_group *g = &v->search.groups[i];
        for (size_t k = 0; k < g->root_count; k++) {
            const takt_split *s = &g->splits[g->roots[k]];
            if (s->input != UINT32_MAX || s->proved_count > 0) /* it proves something */
                TAKT_TRY(add_tree(v, c, g, g->roots[k], 0));
        }
    }
    return TAKT_OK;
}

/* Only what the checker confirms is written. */
static takt_status certify(takt_prover *v, takt_certificate *c)
{
    bool is_proved = false;
    size_t boxes;
    char why[160];
    takt_text text;
    TAKT_TRY(fill(v, c));
    const takt_status status = takt_recheck_run(v->graph, &v->given, c, &is_proved, why, &boxes);
    if (status == TAKT_ERR_UNSUPPORTED || !is_proved) {
        snprintf(v->note, sizeof v->note, "no certificate: %s",
                 status == TAKT_ERR_UNSUPPORTED ? takt_last_error(v->ctx) : why);
        return status == TAKT_ERR_UNSUPPORTED ? TAKT_OK : status;
    }
    TAKT_TRY(status);
    takt_text_init(&text, v->ctx);
    takt_certificate_write(c, &text);
    takt_status written = text.status;
    if (written == TAKT_OK)
        written = takt_write_text(v->ctx, v->o.certificate, &text);
    takt_text_deinit(&text);
    snprintf(v->note, sizeof v->note, "certificate: %.200s", v->o.certificate);
    return written;
}

takt_status takt_prover_certify(takt_prover *v)
{
    takt_certificate c = {0};
    if (v->o.certificate == NULL || v->search.verdict != TAKT_PROOF_FOUND)
        return TAKT_OK;
    takt_arena_init(&c.arena, v->ctx);
    const takt_status status = certify(v, &c);
    takt_certificate_deinit(&c);
    return status;
}

/* ---- checking ---- */

static takt_status check(takt_prover *v, takt_span text)
{
    takt_certificate c;
    bool is_proved = false;
    char why[160];
    takt_status status = takt_certificate_read(v->ctx, v->o.check, text, &c);
    if (status == TAKT_OK)
        status = takt_recheck_run(v->graph, &v->given, &c, &is_proved, why, &v->search.regions);
    v->is_real = c.is_real;
    takt_certificate_deinit(&c);
    if (status == TAKT_OK && !is_proved)
        status = takt_fail(v->ctx, TAKT_E_CERTIFICATE, "%s does not prove the property: %s",
                           v->o.check, why);
    v->search.verdict = status == TAKT_OK ? TAKT_PROOF_FOUND : TAKT_PROOF_UNKNOWN;
    return status;
}

takt_status takt_prover_check(takt_prover *v)
{
    void *bytes;
    size_t length;
    TAKT_TRY(takt_read_file(v->ctx, v->o.check, &bytes, &length));
    const uint64_t start = v->ctx->now_ns(v->ctx->clock_user);
    const takt_status status = check(v, (takt_span){bytes, length});
    v->seconds = (double)(v->ctx->now_ns(v->ctx->clock_user) - start) * 1e-9;
    takt_mem_put(v->ctx, bytes, length);
    return status;
}
