/* options.c - option structures of other sizes, levels, caps on kernel families, and the processor.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "base/ctx.h"
#include "kernel/isa.h"
#include "plan/plan.h"

static const char text[] = "model m(x: f32[n, 40]) -> (y: f32[n, 24]) seed=2 {\n"
                           "  h = dense(x, 33, act=tanh)\n"
                           "  return y = softmax(dense(h, 24))\n"
                           "}\n";

static takt_ctx *ctx;
static takt_model *model;

static takt_plan *plan_of(const takt_plan_options *options)
{
    takt_plan *plan;
    EXPECT_OK(ctx, takt_plan_create(model, options, &plan));
    return plan;
}

/* ---- sizes ---- */

/* A caller with an older header has no `simd`; memory after its structure is not read. */
static void shorter_structures_are_read_as_far_as_they_go(void)
{
    takt_plan_options o = {.sizes = "n=3", .threads = 1};
    memset(o.simd, 77, sizeof o.simd); /* would be refused */
    takt_plan *plan;
    EXPECT_STATUS(ctx, takt_plan_create(model, &o, &plan), TAKT_ERR_ARGUMENT);
    o.size = offsetof(takt_plan_options, simd);
    plan = plan_of(&o);
    takt_plan_destroy(plan);
    EXPECT_OK(ctx, takt_plan_get(model, &o, &plan));
    takt_plan_destroy(plan);
}

typedef struct longer {
    takt_plan_options known;
    uint64_t news;
} longer;

static void longer_structures_may_ask_for_nothing_new(void)
{
    longer o = {.known = {.size = sizeof o, .sizes = "n=3", .threads = 1}};
    takt_plan *plan = plan_of(&o.known);
    takt_plan_destroy(plan);
    o.news = 1;
    EXPECT_STATUS(ctx, takt_plan_create(model, &o.known, &plan), TAKT_ERR_ARGUMENT);
    EXPECT(plan == NULL && strstr(takt_last_error(ctx), "takt_plan_options") != NULL, "%s",
           takt_last_error(ctx));
    o.known.size = 3;
    EXPECT_STATUS(ctx, takt_plan_create(model, &o.known, &plan), TAKT_ERR_ARGUMENT);
}

/* Every structure with a size: a non-zero byte beyond the known fields is an error, so the size is
 * checked. */
static void every_structure_reads_its_size(void)
{
    static const char *const words = "x";
    union {
        size_t size;
        unsigned char bytes[1024];
    } any = {.bytes = {0}};
    takt_plan *plan = plan_of(NULL), *none;
    takt_session *s = NULL, *other = NULL;
    takt_model *m;
    takt_bench *bench;
    takt_timing timing;
    takt_profile *profile;
    takt_comparison comparison;
    takt_ctx *c;
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    any.size = sizeof any;
    any.bytes[sizeof any - 1] = 1;
    const void *o = &any;
    EXPECT_STATUS(NULL, takt_ctx_create(o, &c), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), o, &m),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_model_save(model, words, o), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_model_optimize(model, o, TAKT_FORMAT_TEXT, NULL, NULL),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_plan_get(model, o, &none), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_run_many(model, o, NULL, 0), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_profile_impact(model, o, 1, TAKT_FORMAT_TEXT, NULL, NULL),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_session_time(s, o, &timing), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_session_compare(s, s, o, &comparison), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_profile_create(s, o, &profile), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_bench_create(ctx, o, &bench), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_session_create(plan, o, &other), TAKT_ERR_ARGUMENT);
    EXPECT_OK(ctx, takt_bench_create(ctx, NULL, &bench));
    EXPECT_STATUS(ctx, takt_bench_add(bench, s, o), TAKT_ERR_ARGUMENT);
    takt_bench_destroy(bench);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

/* ---- levels ---- */

static void levels_differ_as_documented(void)
{
    enum { LEVELS = 4 };
    takt_plan *plans[LEVELS];
    takt_plan_options o = {.sizes = "n=3", .threads = 1};
    for (int level = 0; level < LEVELS; level++) {
        EXPECT_OK(NULL, takt_opts_level(&o, level));
        plans[level] = plan_of(&o);
    }
    EXPECT_EQ(plans[0]->isas, UINT32_C(1) << TAKT_ISA_scalar);
    EXPECT_EQ(plans[1]->isas, takt_isa_detect());
    EXPECT(plans[0]->step_count > plans[1]->step_count, "-O0 takes composites apart");
    EXPECT(plans[1]->step_count > plans[2]->step_count, "-O1 fuses nothing");
    EXPECT_EQ(plans[2]->step_count, plans[3]->step_count);
    for (int level = 0; level < LEVELS; level++)
        takt_plan_destroy(plans[level]);
    EXPECT_STATUS(NULL, takt_opts_level(&o, 4), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_opts_level(&o, -1), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_opts_level(NULL, 1), TAKT_ERR_ARGUMENT);
}

/* ---- families ---- */

static const char *kernel_of(const takt_plan *plan, const char *kind)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (strcmp(plan->steps[i].kind, kind) == 0)
            return plan->steps[i].kernel;
    return "none";
}

static void a_family_is_capped_alone(void)
{
    takt_plan_options o = {.sizes = "n=3", .threads = 1};
    takt_plan *plan = plan_of(&o);
    const bool has_vectors = strstr(kernel_of(plan, "gemm"), "scalar") == NULL;
    takt_plan_destroy(plan);
    EXPECT_OK(NULL, takt_opts_simd(&o, TAKT_FAMILY_GEMM, "off"));
    plan = plan_of(&o);
    EXPECT_TEXT(kernel_of(plan, "gemm"), "gemm_f32/scalar");
    EXPECT(!has_vectors || strcmp(kernel_of(plan, "rows"), "rows_f32/scalar") != 0);
    takt_plan_destroy(plan);
    /* A family's own word counts more than the level. */
    EXPECT_OK(NULL, takt_opts_level(&o, 0));
    EXPECT_OK(NULL, takt_opts_simd(&o, TAKT_FAMILY_GEMM, "on"));
    plan = plan_of(&o);
    EXPECT(!has_vectors || strcmp(kernel_of(plan, "gemm"), "gemm_f32/scalar") != 0);
    EXPECT(strcmp(kernel_of(plan, "map"), "map_f32/scalar") == 0, "%s", kernel_of(plan, "map"));
    takt_plan_destroy(plan);
}

static void caps_that_cannot_be_are_refused(void)
{
    takt_plan_options o = {.sizes = "n=3"};
    takt_plan *plan;
    EXPECT_STATUS(NULL, takt_opts_simd(&o, TAKT_FAMILIES, "off"), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_opts_simd(&o, TAKT_FAMILY_MAP, "mmx"), TAKT_ERR_NOT_FOUND);
    EXPECT_STATUS(NULL, takt_opts_simd(&o, TAKT_FAMILY_MAP, NULL), TAKT_ERR_ARGUMENT);
    const char *foreign = (takt_isa_detect() & UINT32_C(1) << TAKT_ISA_neon) != 0 ? "avx2" : "neon";
    EXPECT_OK(NULL, takt_opts_simd(&o, TAKT_FAMILY_MAP, foreign));
    EXPECT_STATUS(ctx, takt_plan_create(model, &o, &plan), TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_last_error_info(ctx)->hint, "scalar") != NULL);
    o = (takt_plan_options){.sizes = "n=3", .isa = foreign};
    EXPECT_STATUS(ctx, takt_plan_create(model, &o, &plan), TAKT_ERR_ARGUMENT);
    static const struct {
        const char *words;
        takt_status status;
    } cases[] = {
        {"gemm=off,conv=on,map=scalar", TAKT_OK},
        {"gem=off", TAKT_ERR_NOT_FOUND},
        {"gemm=mmx", TAKT_ERR_NOT_FOUND},
        {"gemm", TAKT_ERR_ARGUMENT},
        {"=off", TAKT_ERR_ARGUMENT},
        {"gemm=", TAKT_ERR_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_STATUS(ctx, takt_opts_simd_words(ctx, &o, cases[i].words), cases[i].status);
}

/* ---- backends ---- */

static void a_backend_is_closed_with_its_plan(void)
{
    takt_plan *plan;
    char about[256];
    if (takt_backend_available("blas") != NULL)
        return;
    /* A backend's open library stays open with the context. */
    plan = plan_of(&(takt_plan_options){.sizes = "n=2", .backend = "blas", .threads = 1});
    takt_plan_destroy(plan);
    const uint64_t before = ctx->live_bytes;
    plan = plan_of(&(takt_plan_options){.sizes = "n=2", .backend = "blas", .threads = 1});
    takt_plan_backend(plan, about, sizeof about);
    EXPECT(strncmp(about, "blas: ", 6) == 0, "%s", about);
    takt_plan_destroy(plan);
    EXPECT(ctx->live_bytes == before, "%llu bytes are lost",
           (unsigned long long)(ctx->live_bytes - before));
    EXPECT(takt_backend_available("cpu") == NULL && takt_backend_available("abc") != NULL);
}

/* ---- the processor ---- */

static void the_processor_tells(void)
{
    takt_cpu cpu;
    takt_cpu_caps(&cpu);
    EXPECT(strncmp(cpu.isas, "scalar", 6) == 0, "%s", cpu.isas);
    EXPECT_IS(cpu.logical, >=, cpu.usable);
    EXPECT_IS(cpu.usable, >=, cpu.cores);
    EXPECT_IS(cpu.cores, >=, 1);
    EXPECT_IS(cpu.threads, >=, 1);
    EXPECT_IS(cpu.threads, <=, cpu.usable);
    EXPECT_IS(cpu.memory, >, 0);
    EXPECT(takt_family_name(TAKT_FAMILIES) == NULL &&
           strcmp(takt_family_name(TAKT_FAMILY_CONV), "conv") == 0);
}

int main(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model))) {
        shorter_structures_are_read_as_far_as_they_go();
        longer_structures_may_ask_for_nothing_new();
        every_structure_reads_its_size();
        levels_differ_as_documented();
        a_family_is_capped_alone();
        caps_that_cannot_be_are_refused();
        a_backend_is_closed_with_its_plan();
        the_processor_tells();
    }
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return test_done();
}
