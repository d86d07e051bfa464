/* checklist.c - the boxes of the performance guides that a machine can tick, with evidence. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

typedef struct list {
    tool_patient *p;
    size_t ticked, count;
} list;

/* One box: what the guides call it, whether it is ticked, why, and what would tick it. */
static void box(list *l, const char *name, bool good, const char *evidence, const char *fix)
{
    const bool json = tool_on(l->p->t, TAKT_F_JSON);
    if (json) {
        printf("%s\n  {\"box\": ", l->count > 0 ? "," : "");
        tool_print_string(stdout, name);
        printf(", \"ticked\": %s, \"evidence\": ", good ? "true" : "false");
        tool_print_string(stdout, evidence);
        printf(", \"fix\": ");
        tool_print_string(stdout, fix);
        printf("}");
    } else {
        printf("[%c] %s: %s\n", good ? 'x' : ' ', name, evidence);
        if (!good)
            printf("      %s\n", fix);
    }
    l->count++;
    l->ticked += good;
}

#define SAY(where, ...) (void)snprintf((where), TAKT_FINDING_TEXT, __VA_ARGS__)

/* Time now against that with other options: ticked if the change would not save 5 %. */
static void timed_box(list *l, const char *name, const takt_plan_options *o, const char *other,
                      const char *fix)
{
    char text[TAKT_FINDING_TEXT];
    tool_trial x;
    if (!tool_try(l->p, o, 1, &x))
        return;
    SAY(text, "%.4g ms, and %.4g ms %s", x.now_ns * 1e-6, x.then_ns * 1e-6, other);
    box(l, name, x.gain < 0.05, text, fix);
}

static void types(list *l)
{
    char text[TAKT_FINDING_TEXT];
    size_t doubles = 0;
    const size_t count = takt_model_input_count(l->p->model);
    for (size_t i = 0; i < count; i++)
        doubles += takt_model_input(l->p->model, i)->dtype == TAKT_F64;
    SAY(text, "%zu of %zu inputs are f64", doubles, count);
    box(l, "Using Float32 (not Float64)", doubles == 0, text, "declare the inputs as f32");
}

static void memory(list *l)
{
    char text[TAKT_FINDING_TEXT];
    takt_usage before, after;
    const takt_plan_info *i = &l->p->info;
    takt_status status = takt_session_run(l->p->base);
    takt_resource_usage(l->p->t->ctx, &before);
    for (int run = 0; run < 20 && status == TAKT_OK; run++)
        status = takt_session_run(l->p->base);
    takt_resource_usage(l->p->t->ctx, &after);
    SAY(text, "%" PRIu64 " allocations in 20 runs", after.allocations - before.allocations);
    box(l, "Buffers pre-allocated", status == TAKT_OK && after.allocations == before.allocations,
        text, "bind buffers once, before the first run");
    SAY(text, "the arena has %" PRIu64 " bytes, values alone would take %" PRIu64, i->arena,
        i->unshared);
    box(l, "Memory pooling used, in-place operations", i->arena <= i->unshared, text,
        "leave out -O0");
    const bool limited = l->p->options.memory_limit > 0;
    if (limited)
        SAY(text, "the arena may have %" PRIu64 " bytes", l->p->options.memory_limit);
    else
        SAY(text, "none is set");
    box(l, "Set resource limits", limited, text, "add --memory-limit 80%");
}

static void speed(list *l)
{
    static const char name[] = "Enable SIMD, fusion, dead code, common subexpressions";
    takt_plan_options o;
    if (tool_all_on(l->p, &o))
        timed_box(l, name, &o, "with all passes and vector code",
                  "leave out -O, --isa, --simd and --pass");
    else
        box(l, name, true, "no flag switches anything off", "");
    o = l->p->options;
    o.threads = l->p->info.threads > 1 ? 1 : 0;
    timed_box(l, "Thread count optimized", &o,
              o.threads == 1 ? "with one thread" : "with one thread per core",
              o.threads == 1 ? "add --threads 1" : "leave out --threads");
    o = l->p->options;
    const bool is_cpu = o.backend == NULL || strcmp(o.backend, "cpu") == 0;
    o.backend = is_cpu ? "blas" : "cpu";
    if (takt_backend_available(o.backend) == NULL)
        timed_box(l, "Appropriate backend selected", &o, is_cpu ? "on blas" : "on cpu",
                  is_cpu ? "add --backend blas" : "leave out --backend");
}

static void batches(list *l)
{
    char text[TAKT_FINDING_TEXT], sizes[TAKT_SIZES_TEXT], fix[TAKT_FINDING_TEXT];
    int64_t now, more;
    takt_plan_options o = l->p->options;
    if (!tool_with_batch(l->p, 1, 1, sizes, &now) || !tool_with_batch(l->p, 4, 1, sizes, &more))
        return;
    o.sizes = sizes;
    tool_trial x;
    if (!tool_try(l->p, &o, (double)now / (double)more, &x))
        return;
    SAY(text, "%.4g ms a sample at %" PRId64 ", %.4g ms at %" PRId64, x.now_ns / (double)now * 1e-6,
        now, x.then_ns / (double)more * 1e-6, more);
    SAY(fix, "takt benchmark run %s --batch-size 1-64*2", l->p->path);
    box(l, "Batch size tuned", x.gain < 0.05, text, fix);
}

/* A plan that was made before is found again. */
static void cache(list *l)
{
    char text[TAKT_FINDING_TEXT];
    takt_plan *first = NULL, *second = NULL;
    takt_status status = takt_plan_get(l->p->model, &l->p->options, &first);
    const uint64_t start = tool_now_ns();
    if (status == TAKT_OK)
        status = takt_plan_get(l->p->model, &l->p->options, &second);
    const double ns = (double)(tool_now_ns() - start);
    const double made = (double)l->p->info.plan_ns;
    SAY(text, "a plan takes %.4g ms, from the cache %.4g ms", made * 1e-6, ns * 1e-6);
    box(l, "Compile and cache graphs", status == TAKT_OK && first == second, text,
        "use takt_plan_get, or takt compile");
    takt_plan_destroy(first);
    takt_plan_destroy(second);
}

static int look(tool_patient *p)
{
    char text[TAKT_FINDING_TEXT];
    list l = {.p = p};
    const bool json = tool_on(p->t, TAKT_F_JSON);
    if (json)
        printf("{\"schema\": \"takt-checklist/1\", \"boxes\": [");
    SAY(text, "times settled after %zu runs", p->warmup);
    box(&l, "Warm-up completed before timing", p->warmup > 0, text, "give --duration more time");
    types(&l);
    speed(&l);
    batches(&l);
    memory(&l);
    cache(&l);
    if (json)
        printf("\n], \"ticked\": %zu, \"of\": %zu}\n", l.ticked, l.count);
    else
        printf("%zu of %zu boxes\n", l.ticked, l.count);
    return TAKT_EXIT_OK;
}

static int run(takt_tool *t)
{
    return tool_patient_examine(t, look);
}

const takt_verb takt_verb_checklist = {
    .name = "checklist",
    .summary = "the boxes of the performance guides that a machine can tick, with evidence",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "A box is ticked if what it asks for is so, or would not save 5 % of the time; under\n"
             "the others stands what would tick them.",
    .example = "takt checklist examples/mlp.takt -D batch=32 --memory-limit 80%",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED, TAKT_F_THREADS,
              TOOL_PLAN_FLAGS, TAKT_F_DURATION, TAKT_FLAG_IDS},
    .run = run,
};
