/* graph_check.h - one random graph on the cpu backend: each step correct, the same bits in all
 * plans, no memory leaked. */
#ifndef TAKT_TESTS_BACKEND_GRAPH_CHECK_H
#define TAKT_TESTS_BACKEND_GRAPH_CHECK_H

#include "backend/agree.h"
#include "util/graphgen.h"

/* The values of the slots as tensors, as in a loaded model. */
static bool graph_check_slots(const takt_gen *gen, const takt_gen_values *values,
                              takt_tensor *slots)
{
    bool good = true;
    for (size_t i = 0; i < gen->graph->slot_count && good; i++)
        good = EXPECT_OK(gen->ctx, takt_array_to_tensor(gen->ctx, &values->slot[i], &slots[i]));
    return good;
}

static void graph_check_plans(const takt_gen *gen, const takt_inject *inject, uint64_t seed,
                              const char *what)
{
    static takt_gen_values values;
    takt_tensor slots[TAKT_GEN_SLOTS] = {0};
    takt_ctx *ctx = gen->ctx;
    if (!EXPECT_OK(ctx, takt_gen_values_init(gen, seed, &values)))
        return;
    agree_subject a = {
        .what = what, .ctx = ctx, .inject = inject, .in = values.in, .backend = "cpu"};
    a.model = (takt_model){.ctx = ctx, .graph = gen->graph, .slots = slots};
    if (graph_check_slots(gen, &values, slots))
        agree_all(&a);
    for (size_t i = 0; i < gen->graph->slot_count; i++)
        takt_tensor_release(&slots[i]);
    takt_gen_values_deinit(gen, &values);
}

/* Graph number `seed`. `op`, if given, is marked in `*has_op` when it occurs. */
static void graph_check(uint64_t seed, const takt_gen_options *options, const char *what,
                        bool *has_op)
{
    static takt_gen gen;
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &ctx))) {
        if (EXPECT(takt_gen_graph(ctx, seed, options, &gen) == TAKT_OK, "%s: %s", what,
                   takt_last_error(ctx))) {
            for (size_t i = 0; has_op != NULL && i < gen.graph->count; i++)
                *has_op = *has_op || gen.graph->nodes[i].op == options->op;
            graph_check_plans(&gen, &inject, seed, what);
            takt_gen_deinit(&gen);
        }
        takt_ctx_destroy(ctx);
    }
    const uint64_t leaked = takt_inject_deinit(&inject);
    EXPECT(leaked == 0 && inject.faults == 0, "%s: %llu blocks lost, %s", what,
           (unsigned long long)leaked, inject.fault);
}

#endif
