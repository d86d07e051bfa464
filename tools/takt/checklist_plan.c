/* checklist_plan.c - boxes that the model, its plan and the build decide: nothing is timed. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "checklist.h"

#define SAY CHECK_SAY

/* The plan with other options, dry (sizes only); false: it cannot be made. */
static bool plan_info(check_sheet *s, takt_plan_options o, takt_plan_info *info)
{
    takt_plan *plan;
    o.dry = true;
    if (takt_plan_create(s->p->model, &o, &plan) != TAKT_OK)
        return false;
    takt_plan_query(plan, info);
    takt_plan_destroy(plan);
    return true;
}

/* Whether the plan uses a backend, chosen by a flag or by the model. */
static bool is_on(const check_sheet *s, const char *backend)
{
    return strcmp(s->p->backend, backend) == 0;
}

void check_types(check_sheet *s, check_result *r)
{
    size_t doubles = 0;
    const size_t count = takt_model_input_count(s->p->model);
    for (size_t i = 0; i < count; i++)
        doubles += takt_model_input(s->p->model, i)->dtype == TAKT_F64;
    r->ticked = doubles == 0;
    SAY(r->evidence, "%zu of %zu inputs are f64", doubles, count);
    SAY(r->fix, "declare the inputs as f32");
}

void check_batch_dim(check_sheet *s, check_result *r)
{
    const char *name = tool_batch_name(s->p->model);
    r->ticked = name != NULL;
    SAY(r->evidence, name != NULL ? "its samples are counted by %s" : "it takes one sample%s",
        name != NULL ? name : "");
    SAY(r->fix, "takt batch %s n -o batched.takt", s->p->path);
}

void check_memory(check_sheet *s, check_result *r)
{
    r->ticked = s->p->info.peak > 0;
    SAY(r->evidence, "%" PRIu64 " bytes at most, known before the run", s->p->info.peak);
    SAY(r->fix, "takt plan %s", s->p->path);
}

void check_limits(check_sheet *s, check_result *r)
{
    const uint64_t limit = s->p->options.memory_limit;
    r->ticked = limit > 0;
    if (limit > 0)
        SAY(r->evidence, "the plan may need %" PRIu64 " bytes", limit);
    else
        SAY(r->evidence, "none is set");
    SAY(r->fix, "add --memory-limit 80%%");
}

void check_targets(check_sheet *s, check_result *r)
{
    const char *slo = tool_text_of(s->p->t, TAKT_F_SLO), *qps = tool_text_of(s->p->t, TAKT_F_QPS);
    r->ticked = slo != NULL || qps != NULL;
    if (r->ticked)
        SAY(r->evidence, "%s%s%s%s", slo != NULL ? slo : "", slo != NULL && qps != NULL ? ", " : "",
            qps != NULL ? qps : "", qps != NULL ? " a second" : "");
    else
        SAY(r->evidence, "none is set");
    SAY(r->fix, "add --slo p99=5ms or --qps 200, or a file for takt benchmark seeds --targets");
}

void check_pooling(check_sheet *s, check_result *r)
{
    const takt_plan_info *i = &s->p->info;
    r->ticked = i->arena <= i->unshared;
    SAY(r->evidence, "the arena has %" PRIu64 " bytes, values alone would take %" PRIu64, i->arena,
        i->unshared);
    SAY(r->fix, "leave out -O0");
}

void check_in_place(check_sheet *s, check_result *r)
{
    takt_plan_options o = s->p->options;
    takt_plan_info without = {0};
    o.no_in_place = true;
    r->ticked = plan_info(s, o, &without) && s->p->info.arena <= without.arena;
    SAY(r->evidence, "%" PRIu64 " bytes, and %" PRIu64 " if no result lay over an input",
        s->p->info.arena, without.arena);
    SAY(r->fix, "leave out -O0");
}

void check_fusion(check_sheet *s, check_result *r)
{
    takt_plan_options o = s->p->options;
    takt_plan_info apart = {0};
    o.passes = "-fuse";
    if (is_on(s, "ref")) {
        r->ticked = false;
        SAY(r->evidence, "backend ref computes every operation by itself");
        SAY(r->fix, "leave out --backend ref");
        return;
    }
    r->ticked = plan_info(s, o, &apart) &&
                (s->p->info.steps < apart.steps || s->p->options.passes == NULL) &&
                s->p->options.level >= 0;
    SAY(r->evidence, "%zu step%s, and %zu without fusion", s->p->info.steps,
        s->p->info.steps == 1 ? "" : "s", apart.steps);
    SAY(r->fix, "leave out -O and --pass; takt explain --fusions says what did not fuse and why");
}

/* Passes that are not switched off: dead code and common subexpressions are always removed. */
void check_passes(check_sheet *s, check_result *r)
{
    const takt_plan_options *o = &s->p->options;
    r->ticked = o->passes == NULL && o->level >= 0;
    SAY(r->evidence, r->ticked ? "every pass is on" : "a flag switches passes off");
    SAY(r->fix, "leave out -O and --pass");
}

void check_simd(check_sheet *s, check_result *r)
{
    takt_cpu cpu;
    takt_plan_options o;
    takt_cpu_caps(&cpu);
    if (is_on(s, "ref")) {
        r->ticked = false;
        SAY(r->evidence, "backend ref is the interpreter: it uses none of %.120s", cpu.isas);
        SAY(r->fix, "leave out --backend ref");
        return;
    }
    r->ticked = !tool_all_on(s->p, &o) || (s->p->options.isa == NULL && s->p->options.level >= 0 &&
                                           memcmp(o.simd, s->p->options.simd, sizeof o.simd) == 0);
    SAY(r->evidence, r->ticked ? "kernels use %.150s" : "a flag keeps kernels from using %.120s",
        cpu.isas);
    SAY(r->fix, "leave out -O0, --isa and --simd");
}

void check_outputs(check_sheet *s, check_result *r)
{
    const size_t all = takt_model_output_count(s->p->model);
    const char *some = s->p->options.outputs;
    r->ticked = all <= 1 || some != NULL;
    if (some != NULL)
        SAY(r->evidence, "only %.120s is computed, and what it needs", some);
    else
        SAY(r->evidence, "all %zu outputs are computed", all);
    SAY(r->fix, "add --outputs with those that you need");
}

void check_order(check_sheet *s, check_result *r)
{
    takt_plan_options o = s->p->options;
    takt_plan_info best = {0};
    o.hint = "memory";
    const bool known = plan_info(s, o, &best);
    r->ticked = known && (double)s->p->info.peak <= 1.05 * (double)best.peak;
    SAY(r->evidence, "peak %" PRIu64 " bytes, and %" PRIu64 " in the best order that was found",
        s->p->info.peak, best.peak);
    SAY(r->fix, "add --hint memory");
}

void check_caches(check_sheet *s, check_result *r)
{
    takt_cpu cpu;
    takt_cpu_caps(&cpu);
    r->ticked = cpu.cache[0].bytes > 0 || s->p->options.cache.rows > 0;
    SAY(r->evidence, "blocks fit caches of %" PRIu64 " and %" PRIu64 " bytes, lines of %d",
        cpu.cache[0].bytes, cpu.cache[1].bytes, cpu.cache[0].line_bytes);
    SAY(r->fix, "the system does not tell its caches: give --tile and --prefetch");
}

/* A line of the build information, or "". */
static void build_fact(const char *key, char *to, size_t size)
{
    const size_t length = strlen(key);
    to[0] = '\0';
    for (const char *line = takt_build_info(); *line != '\0';) {
        const size_t end = strcspn(line, "\n");
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            snprintf(to, size, "%.*s", (int)(end - length - 2), line + length + 2);
        line += end + (line[end] == '\n');
    }
}

void check_release(check_sheet *s, check_result *r)
{
    char type[64], flags[1024];
    (void)s;
    build_fact("type", type, sizeof type);
    build_fact("flags", flags, sizeof flags);
    r->ticked = strstr(flags, "-O3") != NULL || strstr(flags, "-O2") != NULL;
    SAY(r->evidence, "build type %s", type);
    SAY(r->fix, "make PRESET=release");
}

void check_lto(check_sheet *s, check_result *r)
{
    char preset[64], flags[1024];
    (void)s;
    build_fact("preset", preset, sizeof preset);
    build_fact("flags", flags, sizeof flags);
    r->ticked = strstr(flags, "-flto") != NULL || strstr(preset, "lto") != NULL;
    SAY(r->evidence, "preset %s", preset);
    SAY(r->fix, "make PRESET=lto: smaller code, the same bits and kernels");
}

void check_architecture(check_sheet *s, check_result *r)
{
    char target[64];
    takt_cpu cpu;
    (void)s;
    takt_cpu_caps(&cpu);
    build_fact("target", target, sizeof target);
    r->ticked = strchr(cpu.isas, ' ') != NULL;
    SAY(r->evidence, "built for %s, kernels chosen at run time: %.60s", target, cpu.isas);
    SAY(r->fix, "make PRESET=native: no vector kernel suits this processor");
}
