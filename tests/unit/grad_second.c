/* grad_second.c - gradients of gradients, of every op whose rules compose: against central
 * differences of the first ones, in double. */
#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "test.h"
#include "util/sample.h"

#define LIMIT 1e-6

static takt_ctx *ctx;
static size_t checked;

/* Their gradients are ops of their own, which have none; of a loop, one without a bound. */
static bool may_refuse(const takt_op *op)
{
    return op == &takt_op_max_roi_pool || op == &takt_op_roi_align ||
           op == &takt_op_semiring_matmul || op == &takt_op_loop;
}

static void check(const takt_op *op, const char *text)
{
    takt_sample s;
    double distance = 0;
    if (takt_sample_init(ctx, op, text, true, &s) != TAKT_OK)
        return; /* of a type that cannot be widened */
    if (takt_sample_is_smooth(&s)) {
        const takt_status status = takt_sample_check_second(&s, &distance);
        const bool is_refused = status == TAKT_ERR_UNSUPPORTED && may_refuse(op);
        if (!is_refused &&
            EXPECT(status == TAKT_OK, "%s: %s: %s", op->name, text, takt_last_error(ctx))) {
            EXPECT(distance <= LIMIT, "%s: %s: its second gradient is off by %g", op->name, text,
                   distance);
            checked++;
        }
    }
    takt_sample_deinit(&s);
}

static void every_sample(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < takt_op_count; i++) {
        const takt_op *op = takt_ops[i];
        if (op->no_gradient != NULL || op == &takt_op_fake_quantize)
            continue; /* the latter passes gradients straight through */
        for (size_t s = 0; s < 10 && op->samples[s] != NULL; s++)
            check(op, op->samples[s]);
    }
    takt_ctx_destroy(ctx);
    printf("%zu second gradients checked\n", checked);
    EXPECT_IS(checked, >, 2 * takt_op_count);
}

TEST_MAIN(every_sample)
