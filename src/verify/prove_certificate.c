/* prove_certificate.c - certificates of proofs: written once the checker has confirmed them. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "verify/prove.h"
#include "verify/recheck.h"

static takt_status add_cut(takt_certificate *c, takt_ctx *ctx, const takt_split *s)
{
    TAKT_TRY(takt_mem_grow(ctx, (void **)&c->cuts, &c->capacity, c->count + 1, sizeof *c->cuts));
    c->cuts[c->count++] = (takt_cut){
        .input = s->input, .at = s->at, .proved = s->proved, .proved_count = s->proved_count};
    return TAKT_OK;
}

/* The tree in the order of a walk; its depth is bounded by the checker's. */
static takt_status add_tree(takt_certificate *c, takt_ctx *ctx, const takt_group *g, uint32_t at,
                            int depth)
{
    const takt_split *s = &g->splits[at];
    if (depth > TAKT_CERTIFICATE_DEPTH)
        return TAKT_OK; /* the checker will say that a box is missing */
    TAKT_TRY(add_cut(c, ctx, s));
    if (s->input == UINT32_MAX)
        return TAKT_OK;
    TAKT_TRY(add_tree(c, ctx, g, s->first, depth + 1));
    return add_tree(c, ctx, g, s->first + 1, depth + 1);
}

static takt_status fill(takt_prover *v, takt_certificate *c)
{
    c->is_real = v->is_real;
    c->model = takt_graph_digest(v->graph);
    takt_property_digest(&v->given, c->property);
    for (size_t i = 0; i < v->search.group_count; i++)
        TAKT_TRY(add_tree(c, v->ctx, &v->search.groups[i], 0, 0));
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
