/* cpu_graphs.c - random graphs on the cpu backend: each step correct, the same bits everywhere.
 *
 *     cpu_graphs [--count N] [--seed FIRST]
 */
#include "backend/graph_check.h"

int main(int argc, char **argv)
{
    unsigned long long count = 500, first = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
    }
    for (unsigned long long seed = first; seed < first + count; seed++) {
        char what[32];
        snprintf(what, sizeof what, "seed %llu", seed);
        graph_check(seed, NULL, what, NULL);
    }
    printf("%llu graphs from seed %llu: %d failures\n", count, first, test_failures);
    return test_done();
}
