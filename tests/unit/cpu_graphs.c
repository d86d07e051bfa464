/* cpu_graphs.c - random graphs on the cpu backend: right step by step, the same bits everywhere.
 *
 *     cpu_graphs [--count N] [--seed FIRST]
 */
#include "backend/agree.h"
#include "util/graphgen.h"

/* The values of the slots as tensors: what a loaded model would have. */
static bool make_slots(const takt_gen *gen, const takt_gen_values *values, takt_tensor *slots)
{
    bool good = true;
    for (size_t i = 0; i < gen->graph->slot_count && good; i++)
        good = EXPECT_OK(gen->ctx, takt_array_to_tensor(gen->ctx, &values->slot[i], &slots[i]));
    return good;
}

static void check_graph(takt_ctx *ctx, const takt_inject *inject, uint64_t seed)
{
    static takt_gen gen;
    static takt_gen_values values;
    takt_tensor slots[TAKT_GEN_SLOTS] = {0};
    char what[32];
    if (!EXPECT_OK(ctx, takt_gen_graph(ctx, seed, NULL, &gen)))
        return;
    if (EXPECT_OK(ctx, takt_gen_values_init(&gen, seed, &values))) {
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        agree_subject a = {
            .what = what, .ctx = ctx, .inject = inject, .in = values.in, .backend = "cpu"};
        a.model = (takt_model){.ctx = ctx, .graph = gen.graph, .slots = slots};
        if (make_slots(&gen, &values, slots))
            agree_all(&a);
        for (size_t i = 0; i < gen.graph->slot_count; i++)
            takt_tensor_release(&slots[i]);
        takt_gen_values_deinit(&gen, &values);
    }
    takt_gen_deinit(&gen);
}

static void check_seed(uint64_t seed)
{
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (EXPECT(takt_ctx_create(&config, &ctx) == TAKT_OK)) {
        check_graph(ctx, &inject, seed);
        takt_ctx_destroy(ctx);
    }
    const uint64_t leaked = takt_inject_deinit(&inject);
    EXPECT(leaked == 0 && inject.faults == 0, "seed %llu: %llu blocks lost, %s",
           (unsigned long long)seed, (unsigned long long)leaked, inject.fault);
}

int main(int argc, char **argv)
{
    unsigned long long count = 500, first = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
    }
    for (unsigned long long seed = first; seed < first + count; seed++)
        check_seed(seed);
    return test_done();
}
