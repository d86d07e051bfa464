/* conformance.c - what every backend must do: conformance [--backend NAME]; all of them otherwise.
 *
 * Each op's samples are planned with the backend, run twice, and compared with the interpreter and
 * with each other; nodes that a backend refuses run on cpu, and the result must still be right.
 */
#include "backend/samples.h"

static void check_backend(const char *name)
{
    samples_run run = {.backend = name, .may_fall_back = true};
    for (size_t i = 0; i < takt_op_count; i++)
        samples_visit(takt_ops[i], &run, false);
    EXPECT(run.checked > 100 && run.refused == 0, "%s: %zu samples checked, %zu refused", name,
           run.checked, run.refused);
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"cpu", "ref"};
    if (argc == 3 && strcmp(argv[1], "--backend") == 0) {
        check_backend(argv[2]);
        return test_done();
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_backend(all[i]);
    return test_done();
}
