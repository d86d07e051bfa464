/* gpu_places.c - how many samples of ops have a step that a GPU has no code for. The number is
 * printed with the ops, and may only fall. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "api/model.h"
#include "backend/gpu_session.h"
#include "backend/samples.h"
#include "op/ops.h"
#include "util/sample.h"

enum { MOST = 75 }; /* samples of all ops, in the types they are written for */

/* Counts steps that stay on the host although the device could run them: copies cost more, or they
 * are empty. */
static bool is_lacking(const takt_step *step)
{
    return strcmp(step->backend->name, "gpu") != 0 && step->node_count > 0 && step->note != NULL &&
           strncmp(step->note, "an island", sizeof "an island" - 1) != 0;
}

static bool lacks(const takt_op *op, const char *text, const char **why)
{
    takt_ctx *ctx;
    takt_sample s;
    takt_plan *plan = NULL;
    bool is_lacking_one = false;
    static char note[200];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    if (takt_sample_init(ctx, op, text, false, &s) == TAKT_OK) {
        takt_model m = {.ctx = ctx, .graph = s.graph};
        const takt_plan_options o = {.backend = "gpu", .threads = 1};
        if (EXPECT_OK(ctx, takt_plan_create(&m, &o, &plan)))
            for (size_t i = 0; i < plan->step_count && !is_lacking_one; i++)
                if (is_lacking(&plan->steps[i])) {
                    is_lacking_one = true;
                    snprintf(note, sizeof note, "%s", plan->steps[i].note);
                }
        takt_plan_destroy(plan);
        takt_sample_deinit(&s);
    }
    takt_ctx_destroy(ctx);
    *why = note;
    return is_lacking_one;
}

static void places(void)
{
    size_t lacking = 0, all = 0;
    (void)samples_visit;
    gpu_driver(&(gpu_settings){0});
    for (size_t k = 0; k < takt_op_count; k++) {
        const takt_op *op = takt_ops[k];
        size_t of_op = 0;
        const char *why = "";
        for (size_t i = 0; i < sizeof op->samples / sizeof *op->samples && op->samples[i] != NULL;
             i++) {
            all++;
            of_op += lacks(op, op->samples[i], &why);
        }
        if (of_op > 0)
            printf("%-24s %2zu  %s\n", op->name, of_op, why);
        lacking += of_op;
    }
    printf("%zu of %zu samples have a step without device code\n", lacking, all);
    EXPECT(lacking <= MOST, "%zu samples have a step without device code, and %d had", lacking,
           MOST);
}

TEST_MAIN(places)
