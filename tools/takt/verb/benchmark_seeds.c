/* benchmark_seeds.c - the figures that well-known guides claim, measured on this machine. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

/* One claim: a model, and the time in microseconds that somebody says it takes. */
typedef struct claim {
    const char *name, *text, *sizes;
    double claim_us;
    const char *from;
} claim;

#define MLP                                                                                        \
    "model mlp(x: f32[batch, 784]) -> f32[batch, 10] {\n"                                          \
    "  h = dense(x, 256, act=relu)\n  return dense(h, 10, act=softmax)\n}\n"
#define GEMM(n)                                                                                    \
    "model gemm(a: f32[" n ", " n "], b: f32[" n ", " n "]) -> f32[" n ", " n "] {\n"              \
    "  return matmul(a, b)\n}\n"
#define ONE(name, type, out, body)                                                                 \
    "model " name "(x: " type ") -> " out " {\n  return " body "\n}\n"
#define BLOCK                                                                                      \
    "model block(x: f32[batch, 64, 56, 56]) -> f32[batch, 64, 56, 56] {\n"                         \
    "  h = conv(x, 64, 3, act=relu)\n  return relu(conv(h, 64, 3) + x)\n}\n"
#define ENCODER                                                                                    \
    "model layer(x: f32[batch, 128, 768]) -> f32[batch, 128, 768] {\n"                             \
    "  return transformer_block(x, heads=12, hidden=3072, norm_first=false)\n}\n"

static const claim claims[] = {
    {"MLP 784-256-10, batch 1", MLP, "batch=1", 19, "000"},
    {"MLP 784-256-10, batch 32", MLP, "batch=32", 128, "000"},
    {"ResNet-18 block 64x56x56", BLOCK, NULL, 340, "000"},
    {"encoder layer 128x768", ENCODER, NULL, 820, "000"},
    {"LayerNorm 768, batch 32", ONE("norm", "f32[32, 768]", "f32[32, 768]", "layer_norm(x)"), NULL,
     15, "000"},
    {"softmax 10000, batch 32", ONE("top", "f32[32, 10000]", "f32[32, 10000]", "softmax(x)"), NULL,
     58, "000"},
    {"GEMM 64", GEMM("64"), NULL, 101, "002"},
    {"GEMM 128", GEMM("128"), NULL, 893, "002"},
    {"GEMM 256", GEMM("256"), NULL, 10100, "002"},
    {"GEMM 512", GEMM("512"), NULL, 82000, "002"},
    {"GEMM 1000", GEMM("1000"), NULL, 10000, "001"},
    {"element-wise, 1M", ONE("map", "f32[1048576]", "f32[1048576]", "relu(x)"), NULL, 1000, "001"},
    {"reduction, 1M", ONE("sum", "f32[1048576]", "f32[]", "reduce_sum(x)"), NULL, 2000, "001"},
};

enum { CLAIMS = sizeof claims / sizeof *claims };

typedef struct row {
    const claim *c;
    takt_profile_summary s;
    double plan_ns;
} row;

static int measure(takt_tool *t, const takt_ceilings *ceilings, takt_plan *plan, row *r)
{
    takt_session *s;
    takt_profile *p;
    uint64_t max_ns;
    if (!tool_duration(t, TAKT_F_DURATION, 300000000, &max_ns))
        return TAKT_EXIT_USAGE;
    const takt_profile_options options = {.ceilings = ceilings, .max_ns = max_ns};
    int code = tool_finish(t, takt_session_create(plan, NULL, &s));
    if (code != TAKT_EXIT_OK)
        return code;
    code = tool_fill_inputs(t, s);
    if (code == TAKT_EXIT_OK)
        code = tool_finish(t, takt_profile_create(s, &options, &p));
    if (code == TAKT_EXIT_OK) {
        takt_profile_summarize(p, &r->s);
        takt_profile_destroy(p);
    }
    takt_session_destroy(s);
    return code;
}

static int one(takt_tool *t, const takt_ceilings *ceilings, const claim *c, row *r)
{
    takt_model *model;
    takt_plan *plan;
    const int threads = (int)tool_number_of(t, TAKT_F_THREADS, 0);
    const takt_plan_options options = {.sizes = c->sizes, .threads = threads};
    int code = tool_finish(
        t, takt_model_load_memory(t->ctx, c->name, c->text, strlen(c->text), NULL, &model));
    *r = (row){.c = c};
    if (code != TAKT_EXIT_OK)
        return code;
    const uint64_t start = tool_now_ns();
    code = tool_finish(t, takt_plan_create(model, &options, &plan));
    r->plan_ns = (double)(tool_now_ns() - start);
    if (code == TAKT_EXIT_OK)
        code = measure(t, ceilings, plan, r);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return code;
}

/* A claim below what the machine can do at all is nobody's fault. */
static const char *verdict(const row *r)
{
    if (r->s.latency.median_ci.high <= r->c->claim_us * 1e3)
        return "met";
    return r->s.floor_ns > r->c->claim_us * 1e3 ? "impossible here" : "not met";
}

static void print_json(const row *r, size_t index)
{
    printf("%s{\"name\": ", index > 0 ? ",\n " : "[");
    tool_print_string(stdout, r->c->name);
    printf(", \"guide\": \"%s\", \"claim_us\": %g, \"floor_us\": %.4g, \"median_us\": %.4g, "
           "\"ci95_us\": [%.4g, %.4g], \"plan_ms\": %.4g, \"verdict\": \"%s\"}",
           r->c->from, r->c->claim_us, r->s.floor_ns * 1e-3, r->s.latency.median * 1e-3,
           r->s.latency.median_ci.low * 1e-3, r->s.latency.median_ci.high * 1e-3, r->plan_ns * 1e-6,
           verdict(r));
}

static void print_row(const row *r)
{
    printf("  %-26s %8.6g us %9.4g us %9.4g us (%.4g to %.4g)  %s\n", r->c->name, r->c->claim_us,
           r->s.floor_ns * 1e-3, r->s.latency.median * 1e-3, r->s.latency.median_ci.low * 1e-3,
           r->s.latency.median_ci.high * 1e-3, verdict(r));
}

static int run(takt_tool *t)
{
    takt_ceilings ceilings;
    const bool json = tool_on(t, TAKT_F_JSON);
    double slowest_plan = 0;
    int code = tool_ceilings(t, false, &ceilings);
    if (code == TAKT_EXIT_OK && !json)
        printf("  %-26s %11s %12s %12s (95 %% interval)\n", "", "claim", "floor here", "measured");
    for (size_t i = 0; i < CLAIMS && code == TAKT_EXIT_OK; i++) {
        row r;
        code = one(t, &ceilings, &claims[i], &r);
        if (code != TAKT_EXIT_OK)
            break;
        slowest_plan = r.plan_ns > slowest_plan ? r.plan_ns : slowest_plan;
        if (json)
            print_json(&r, i);
        else
            print_row(&r);
    }
    if (code != TAKT_EXIT_OK)
        return code;
    if (json)
        printf("]\n");
    else
        printf("  %-26s %8.6g ms %12s %9.4g ms  %s\n", "graph compilation, slowest", 100.0, "",
               slowest_plan * 1e-6, slowest_plan < 1e8 ? "met" : "not met");
    return TAKT_EXIT_OK;
}

const takt_verb takt_verb_benchmark_seeds = {
    .name = "benchmark-seeds",
    .summary = "the figures that the performance guides claim, measured here",
    .arguments = "",
    .arg_min = 0,
    .arg_max = 0,
    .about =
        "Beside each claim stands the least time that this machine's measured ceilings allow:\n"
        "a claim below it is impossible here, whatever the software.",
    .example = "takt benchmark seeds",
    .flags = {TAKT_F_THREADS, TAKT_F_SEED, TAKT_F_DURATION, TAKT_FLAG_IDS},
    .run = run,
};
