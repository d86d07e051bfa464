/* seeds_times.c - the tables of times: claim, floor here, measured with its interval, verdict. */
#include "seeds.h"

static void json_row(seed_job *j, const seed_claim *c, const seed_row *r)
{
    printf("%s{\"name\": ", j->has_item ? ",\n  " : "\n  ");
    tool_print_string(stdout, c->name);
    printf(", \"dtype\": \"%s\", \"threads\": %d", seed_dtype(c), r->info.threads);
    printf(", \"guide\": \"%s\", \"floor_us\": %.4g, \"median_us\": %.4g, \"ci95_us\": [%.4g, "
           "%.4g], \"plan_ms\": %.4g, \"claims\": [",
           c->guide, r->s.floor_ns * 1e-3, r->s.latency.median * 1e-3,
           r->s.latency.median_ci.low * 1e-3, r->s.latency.median_ci.high * 1e-3,
           r->plan_ns * 1e-6);
    for (int i = 0; i < SEED_CLAIMS && c->claims[i].who != NULL; i++) {
        const seed_verdict v = seed_judge_row(r, c->claims[i].us);
        printf("%s{\"who\": \"%s\", \"us\": %g, \"verdict\": \"%s\"}", i > 0 ? ", " : "",
               c->claims[i].who, c->claims[i].us, seed_verdict_name(v));
    }
    printf("]}");
    j->has_item = true;
}

/* Claims, strictest first: "19 met, 22 met, 45 met" shows which ones are beaten. */
static void text_row(const seed_claim *c, const seed_row *r)
{
    char a[32], b[32], from[32], to[32];
    printf("  %-28s %12s %12s (%s to %s) ", c->name, seed_time(r->s.floor_ns, a),
           seed_time(r->s.latency.median, b), seed_time(r->s.latency.median_ci.low, from),
           seed_time(r->s.latency.median_ci.high, to));
    for (int i = 0; i < SEED_CLAIMS && c->claims[i].who != NULL; i++)
        printf("%s %s %g: %s", i > 0 ? "," : "", c->claims[i].who, c->claims[i].us,
               seed_verdict_name(seed_judge_row(r, c->claims[i].us)));
    printf("\n");
}

static void count_missed(seed_job *j, const seed_claim *c, const seed_row *r)
{
    for (int i = 0; i < SEED_CLAIMS && c->claims[i].who != NULL; i++)
        j->missed += seed_judge_row(r, c->claims[i].us) == SEED_NOT_MET;
}

/* A floor above the measured time does not count: the ceilings were measured under load. */
static bool lower_floor(seed_row *r)
{
    const double median = r->s.latency.median;
    const bool is_wrong = r->s.floor_ns > 1.03 * median;
    r->s.floor_ns = is_wrong ? median : r->s.floor_ns;
    return is_wrong;
}

int seed_times(seed_job *j)
{
    double slowest = 0;
    size_t below = 0;
    if (j->json)
        printf("\"times\": [");
    else
        printf("  %-28s %12s %12s (95 %% interval)  what the guides claim, in us\n", "",
               "floor here", "measured");
    j->has_item = false;
    for (size_t i = 0; i < seed_claim_count; i++) {
        seed_row r;
        const int code = seed_measure(j, &seed_claims[i], NULL, j->threads, &r);
        if (code != TAKT_EXIT_OK)
            return seed_close_list(j, code);
        slowest = r.plan_ns > slowest ? r.plan_ns : slowest;
        below += lower_floor(&r);
        count_missed(j, &seed_claims[i], &r);
        if (j->json)
            json_row(j, &seed_claims[i], &r);
        else
            text_row(&seed_claims[i], &r);
    }
    if (below > 0)
        fprintf(stderr,
                "note: %zu times are below the floor that the kept ceilings give: they were "
                "measured on a busy machine; `takt benchmark system --measure` renews them\n",
                below);
    const seed_verdict v = seed_judge((takt_interval){slowest, slowest}, 0, 1e8);
    j->missed += v == SEED_NOT_MET;
    if (j->json)
        printf("],\n\"graph_compilation\": {\"claim_ms\": 100, \"slowest_ms\": %.4g, \"verdict\": "
               "\"%s\"},\n\"gpu\": {\"claims_ms\": {\"GEMM 1000\": 1, \"element-wise, 1M\": 0.1, "
               "\"reduction, 1M\": 0.2}, \"verdict\": \"no GPU backend\"},\n",
               slowest * 1e-6, seed_verdict_name(v));
    else
        printf("  %-28s %12s %9.4g ms  CPU 100 ms: %s\n"
               "  the guides' GPU times (1, 0.1 and 0.2 ms): no GPU backend here\n",
               "graph compilation, slowest", "", slowest * 1e-6, seed_verdict_name(v));
    return TAKT_EXIT_OK;
}
