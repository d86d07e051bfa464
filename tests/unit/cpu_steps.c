/* cpu_steps.c - every op, sample and element type on the cpu backend. A name checks one op alone. */
#include "backend/samples.h"

/* Ops whose steps are checked against the interpreter by their own tests as well may still fall
 * back for some types; the list may only shrink. */
static bool may_fall_back(const takt_op *op)
{
    static const char *const names[] = {NULL};
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    samples_run run = {.backend = "cpu"};
    for (size_t i = 0; i < takt_op_count; i++) {
        if (argc > 1 && strcmp(argv[1], takt_ops[i]->name) != 0)
            continue;
        run.may_fall_back = may_fall_back(takt_ops[i]);
        samples_visit(takt_ops[i], &run, true);
    }
    EXPECT(run.checked > (argc > 1 ? 0u : 500u), "only %zu samples were checked", run.checked);
    printf("%zu samples checked, %zu refused by inference\n", run.checked, run.refused);
    return test_done();
}
