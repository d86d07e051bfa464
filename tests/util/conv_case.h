/* conv_case.h - a model run under many settings, for the tests of convolutions.
 *
 * Inputs get random values. Results must be equal bit for bit under every setting. The first is
 * also compared with the reference backend, whose arithmetic is double: the error of a sum of k
 * products is at most gamma_k times the sum of their magnitudes, which is the same model on the
 * magnitudes of its inputs.
 */
#ifndef TAKT_TESTS_UTIL_CONV_CASE_H
#define TAKT_TESTS_UTIL_CONV_CASE_H

#include <stdbool.h>
#include <takt/takt.h>

enum { CONV_VALUES = 1 << 16 };

typedef struct conv_case {
    const char *text;
    double k;      /* products in a sum; 0: results must equal the reference's */
    bool is_plain; /* no cancellation: the bound is relative to the largest result */
} conv_case;

typedef struct conv_result {
    takt_dtype dtype;
    size_t count;
    unsigned char bytes[CONV_VALUES * 8];
    double value[CONV_VALUES];
} conv_result;

size_t conv_count(const takt_tensor_view *v);
/* `magnitudes`: the same values without their signs. */
void conv_fill(const takt_tensor_view *v, uint64_t seed, bool magnitudes);
/* False if there are too many values to keep. */
bool conv_keep(const takt_tensor_view *v, conv_result *r);
/* Plans, fills, runs and keeps the first output; returns the first failure. */
takt_status conv_run(const takt_model *model, const takt_plan_options *options, bool magnitudes,
                     conv_result *r);
/* The first element that differs, with NaNs equal; a->count if none does. */
size_t conv_difference(const conv_result *a, const conv_result *b);
/* Everything described at the head of this file. Returns NULL, or the failure as static text. */
const char *conv_check(takt_ctx *ctx, const conv_case *c);

/* Each case of an array is a test of its own. */
#define CONV_CASES(array)                                                                          \
    do {                                                                                           \
        takt_ctx *ctx_;                                                                            \
        if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx_)))                                        \
            break;                                                                                 \
        for (size_t i_ = 0; i_ < sizeof(array) / sizeof *(array); i_++) {                          \
            const char *why_ = conv_check(ctx_, &(array)[i_]);                                     \
            EXPECT(why_ == NULL, "%s\n    %s", (array)[i_].text, why_);                            \
        }                                                                                          \
        takt_ctx_destroy(ctx_);                                                                    \
    } while (0)

#endif
