/* seeds_ladder.c - a comparison of backends, the gain of batching, and the speed-up of a product
 * step by step. */
#include "seeds.h"

static const char *const backends[] = {"cpu", "blas", "ref"};
enum { BACKENDS = sizeof backends / sizeof *backends };

/* Median in microseconds; 0: the backend cannot be used here. */
static int time_on(seed_job *j, const seed_claim *c, const char *backend, int threads, double *us)
{
    seed_row r;
    *us = 0;
    if (takt_backend_available(backend) != NULL)
        return TAKT_EXIT_OK;
    const int code = seed_measure(j, c, backend, threads, &r);
    *us = r.s.latency.median * 1e-3;
    return code;
}

static void json_time(const char *key, double us, bool last)
{
    if (us > 0)
        printf("\"%s\": %.4g%s", key, us, last ? "" : ", ");
    else
        printf("\"%s\": null%s", key, last ? "" : ", ");
}

int seed_backends(seed_job *j)
{
    /* The interpreter takes a minute for the larger ones; so would a library as slow as that. */
    static const struct {
        const char *name;
        bool is_large;
    } rows[] = {{"MLP 784-256-10, batch 1", false},
                {"MLP 784-256-10, batch 32", false},
                {"ResNet-18 block 64x56x56", true},
                {"encoder layer 128x768", true},
                {"LayerNorm 768, batch 32", false},
                {"softmax 10000, batch 32", false},
                {"GEMM 64", false},
                {"GEMM 128", false}};
    bool is_slow[BACKENDS] = {false};
    printf(j->json ? "\"backends_us\": [" : "\n  by backend%30s", "");
    for (int b = 0; b < BACKENDS && !j->json; b++)
        printf("%12s", backends[b]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const seed_claim *c = seed_find(rows[i].name);
        double us[BACKENDS];
        char time[32];
        for (int b = 0; b < BACKENDS; b++) {
            us[b] = 0;
            if (rows[i].is_large && is_slow[b])
                continue;
            const int code = time_on(j, c, backends[b], j->threads, &us[b]);
            if (code != TAKT_EXIT_OK)
                return seed_close_list(j, code);
            is_slow[b] = is_slow[b] || us[b] > 10 * us[0];
        }
        if (j->json)
            printf("%s{\"name\": \"%s\", ", i > 0 ? ",\n  " : "\n  ", c->name);
        else
            printf("\n  %-38s", c->name);
        for (int b = 0; b < BACKENDS; b++)
            if (j->json)
                json_time(backends[b], us[b], b == BACKENDS - 1);
            else
                printf("%12s", us[b] > 0                        ? seed_time(us[b] * 1e3, time)
                               : rows[i].is_large && is_slow[b] ? "left out"
                                                                : "not here");
        printf("%s", j->json ? "}" : "");
    }
    printf(j->json ? "],\n" : "\n");
    return TAKT_EXIT_OK;
}

/* "10-50x faster": 32 samples run one by one, against a batch of 32. */
int seed_batching(seed_job *j)
{
    double one, many;
    int code = time_on(j, seed_find("MLP 784-256-10, batch 1"), "cpu", j->threads, &one);
    if (code == TAKT_EXIT_OK)
        code = time_on(j, seed_find("MLP 784-256-10, batch 32"), "cpu", j->threads, &many);
    if (code != TAKT_EXIT_OK)
        return code;
    const double gain = many > 0 ? 32 * one / many : 0;
    if (j->json)
        printf("\"batching\": {\"from\": 1, \"to\": 32, \"claim\": [10, 50], \"gain\": %.4g, "
               "\"verdict\": \"%s\"},\n",
               gain, gain >= 10 ? "met" : "not met");
    else
        printf("\n  batching, 1 to 32: %.3g times the samples a second (guide 000 claims 10 to 50: "
               "%s; alone a sample takes %.3g us, in the batch %.3g us)\n",
               gain, gain >= 10 ? "met" : "not met", one, many / 32);
    return TAKT_EXIT_OK;
}

typedef struct rung {
    const char *name, *backend;
    int threads;
    double claim; /* times as fast as naive */
} rung;

/* Guide 001's case study: naive 1000 ms, BLAS 50, blocked 30, parallel 10. */
int seed_ladder(seed_job *j)
{
    static const rung rungs[] = {{"naive (ref)", "ref", 1, 1},
                                 {"BLAS", "blas", 1, 20},
                                 {"blocked (cpu, 1 thread)", "cpu", 1, 33},
                                 {"parallel (cpu, all threads)", "cpu", 0, 100}};
    const seed_claim *c = seed_find("GEMM 256");
    double naive = 0;
    printf(j->json ? "\"ladder\": [" : "\n  the ladder of guide 001, on GEMM 256\n");
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        double us;
        char time[32];
        const int code = time_on(j, c, rungs[i].backend, rungs[i].threads, &us);
        if (code != TAKT_EXIT_OK)
            return seed_close_list(j, code);
        naive = i == 0 ? us : naive;
        const double gain = us > 0 ? naive / us : 0;
        const char *verdict = us <= 0 ? "not here" : gain >= rungs[i].claim ? "met" : "not met";
        if (j->json) {
            printf("%s{\"name\": \"%s\", ", i > 0 ? ",\n  " : "\n  ", rungs[i].name);
            json_time("us", us, false);
            printf("\"gain\": %.4g, \"claim\": %g, \"verdict\": \"%s\"}", gain, rungs[i].claim,
                   verdict);
        } else if (us > 0) {
            printf("  %-28s %12s  %6.4g times as fast as naive (claimed %g: %s)\n", rungs[i].name,
                   seed_time(us * 1e3, time), gain, rungs[i].claim, verdict);
        } else {
            printf("  %-28s not here: %s\n", rungs[i].name,
                   takt_backend_available(rungs[i].backend));
        }
    }
    printf(j->json ? "],\n" : "");
    return TAKT_EXIT_OK;
}
