/* gpu_graphs_slow.c - random graphs on the cuda backend with the tests' driver, with every step
 * that has device code on the device: the cpu's bits, in two runs.
 *
 *     gpu_graphs_slow [--count N] [--seed FIRST] [--device 1]
 *
 * With --device the driver is the machine's: scripts/gpu graphs.
 */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "api/model.h"
#include "backend/gpu_session.h"
#include "backend/list.h"
#include "ir/array.h"
#include "ir/dtype.h"
#include "util/graphgen.h"

static size_t steps_away, steps_home;
static bool is_real; /* the driver is the machine's */

/* Copies are free, so that no part of a graph stays on the host to avoid them. */
static const takt_machine *machine(const void *state, takt_isa_set isas)
{
    static const takt_machine figures = {
        .flops_per_us = 1e12, .bytes_per_us = 1e12, .copied_per_us = 1e12};
    (void)state;
    (void)isas;
    return &figures;
}

static takt_session *session_of(takt_ctx *ctx, const takt_model *m, const char *backend,
                                const takt_tensor *in)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.backend = backend, .threads = 1};
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        for (size_t i = 0; i < takt_session_input_count(s); i++)
            memcpy(takt_session_input(s, i)->data, takt_tensor_data(&in[i]),
                   takt_tensor_bytes(&in[i]));
    for (size_t i = 0; plan != NULL && i < plan->step_count; i++)
        *(plan->steps[i].space != TAKT_HOST ? &steps_away : &steps_home) +=
            strcmp(backend, "gpu") == 0;
    takt_plan_destroy(plan);
    return s;
}

/* The first element that differs, or -1; all NaN count as equal. */
static int64_t difference(const takt_tensor_view *a, const takt_tensor_view *b)
{
    const int bits = takt_dtype_bits(a->dtype);
    size_t n = 1;
    for (int d = 0; d < a->rank; d++)
        n *= (size_t)a->dims[d];
    if (bits < 8)
        return memcmp(a->data, b->data, (n * (size_t)bits + 7) / 8) == 0 ? -1 : 0;
    const size_t bytes = (size_t)bits / 8;
    for (size_t i = 0; i < n; i++) {
        if (memcmp((char *)a->data + i * bytes, (char *)b->data + i * bytes, bytes) == 0)
            continue;
        if (!takt_dtype_is_float(a->dtype))
            return (int64_t)i;
        const double x = takt_dtype_get_f(a->dtype, a->data, i);
        const double y = takt_dtype_get_f(b->dtype, b->data, i);
        if (x == x || y == y)
            return (int64_t)i;
    }
    return -1;
}

static void same(const takt_graph *g, size_t output, const takt_tensor_view *a,
                 const takt_tensor_view *b, unsigned long long seed)
{
    const int64_t at = difference(a, b);
    const size_t i = at < 0 ? 0 : (size_t)at;
    const bool is_float = takt_dtype_is_float(a->dtype);
    EXPECT(at < 0, "seed %llu: output %zu, %s of %s: element %zu is %.17g on cpu, %.17g there",
           seed, output, g->nodes[g->outputs[output].id].op->name, takt_dtype_name(a->dtype), i,
           is_float ? takt_dtype_get_f(a->dtype, a->data, i)
                    : (double)takt_dtype_get_i(a->dtype, a->data, i),
           is_float ? takt_dtype_get_f(b->dtype, b->data, i)
                    : (double)takt_dtype_get_i(b->dtype, b->data, i));
}

static void compare(takt_ctx *ctx, const takt_model *m, const takt_tensor *in,
                    unsigned long long seed)
{
    takt_session *cpu = session_of(ctx, m, "cpu", in), *gpu = session_of(ctx, m, "gpu", in);
    for (int run = 0; run < 2 && cpu != NULL && gpu != NULL; run++) {
        const takt_status a = takt_session_run(cpu), b = takt_session_run(gpu);
        EXPECT(a == b, "seed %llu: cpu gives %d, gpu %d: %s", seed, a, b,
               takt_session_error(gpu)->message);
        for (size_t i = 0; a == TAKT_OK && b == TAKT_OK && i < takt_session_output_count(cpu); i++)
            same(m->graph, i, takt_session_output(cpu, i), takt_session_output(gpu, i), seed);
    }
    takt_session_destroy(gpu);
    takt_session_destroy(cpu);
}

static void graph_of(unsigned long long seed, const takt_backend *backend)
{
    static takt_gen gen;
    static takt_gen_values values;
    static takt_tensor in[TAKT_GEN_INPUTS], slots[TAKT_GEN_SLOTS];
    takt_ctx *ctx;
    memset(in, 0, sizeof in);
    memset(slots, 0, sizeof slots);
    if (!is_real)
        gpu_driver(&(gpu_settings){.order = (grid_order)(seed % GRID_ORDERS)});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, backend));
    if (EXPECT_OK(ctx, takt_gen_graph(ctx, seed, NULL, &gen)) &&
        EXPECT_OK(ctx, takt_gen_values_init(&gen, seed, &values))) {
        bool good = true;
        for (size_t i = 0; i < values.in_count && good; i++)
            good = EXPECT_OK(ctx, takt_array_to_tensor(ctx, &values.in[i], &in[i]));
        for (size_t i = 0; i < gen.graph->slot_count && good; i++)
            good = EXPECT_OK(ctx, takt_array_to_tensor(ctx, &values.slot[i], &slots[i]));
        const takt_model m = {.ctx = ctx, .graph = gen.graph, .slots = slots};
        if (good)
            compare(ctx, &m, in, seed);
        for (size_t i = 0; i < values.in_count; i++)
            takt_tensor_release(&in[i]);
        for (size_t i = 0; i < gen.graph->slot_count; i++)
            takt_tensor_release(&slots[i]);
        takt_gen_values_deinit(&gen, &values);
        takt_gen_deinit(&gen);
    }
    takt_ctx_destroy(ctx);
    if (is_real)
        return;
    const gpu_counts n = gpu_count();
    EXPECT(n.wrong == NULL, "seed %llu: %s", seed, n.wrong);
    EXPECT(n.live_objects == 0 && n.live_bytes == 0, "seed %llu: %d objects, %zu bytes are left",
           seed, n.live_objects, n.live_bytes);
}

int main(int argc, char **argv)
{
    unsigned long long count = 200, first = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--device") == 0)
            is_real = true;
    }
    static takt_backend backend;
    backend = is_real ? takt_backend_cuda : *gpu_backend();
    backend.name = "gpu";
    backend.machine = machine;
    if (is_real && backend.available() != NULL) {
        printf("skipped: %s\n", backend.available());
        return 77;
    }
    takt_ctx *holder = NULL; /* of the device, so that no graph starts it again */
    void *held = NULL;
    if (is_real) {
        EXPECT_OK(NULL, takt_ctx_create(NULL, &holder));
        EXPECT_OK(holder, backend.open(holder, NULL, 1, &held));
    }
    for (unsigned long long seed = first; seed < first + count; seed++) {
        graph_of(seed, &backend);
        if (is_real && (seed + 1 - first) % 500 == 0) {
            printf("%llu graphs, %d failures\n", seed + 1 - first, test_failures);
            fflush(stdout);
        }
    }
    if (held != NULL)
        backend.close(holder, held);
    takt_ctx_destroy(holder);
    printf("%llu graphs from seed %llu: %zu steps on the device, %zu on the host, %d failures\n",
           count, first, steps_away, steps_home, test_failures);
    EXPECT(count < 100 || steps_away > steps_home, "most steps stay on the host");
    return test_done();
}
