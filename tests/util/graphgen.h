/* graphgen.h - random valid graphs out of every op's samples, the same for the same seed.
 *
 * The first op of a graph is number seed % takt_op_count, so as many graphs as there are ops use
 * every one of them; the rest is drawn. Calls come from the op's samples, in any element type that
 * the op takes. Arguments are earlier values, the last ones first, made to fit by cast, slice, pad
 * and reshape, or new inputs, constants and slots; element-wise calls also take a value together
 * with views of it. Views of all kinds stand between the calls. Arguments for which the sample
 * states a range (indices, divisors) are always new inputs, so that no run can fail.
 */
#ifndef TAKT_TESTS_UTIL_GRAPHGEN_H
#define TAKT_TESTS_UTIL_GRAPHGEN_H

#include "util/random_array.h"

typedef struct takt_gen_options {
    size_t calls;         /* of ops drawn from the samples; 0: 10 */
    takt_dtype_set avoid; /* element types that must not occur */
    bool only_elementwise;
    const takt_op *op; /* the first call; NULL: number seed % takt_op_count */
    bool has_dtype;    /* all calls have an input of `dtype`, or are skipped */
    takt_dtype dtype;
} takt_gen_options;

enum { TAKT_GEN_INPUTS = 256, TAKT_GEN_SLOTS = 16 };

typedef struct takt_gen {
    takt_ctx *ctx;
    takt_graph *graph;
    size_t range_count; /* = the graph's inputs */
    takt_sample_range ranges[TAKT_GEN_INPUTS];
} takt_gen;

/* `options` may be NULL. */
TAKT_MUST_USE takt_status takt_gen_graph(takt_ctx *ctx, uint64_t seed,
                                         const takt_gen_options *options, takt_gen *gen);
void takt_gen_deinit(takt_gen *gen);

/* Values for a run; all in one block of arrays, released together. */
typedef struct takt_gen_values {
    takt_array in[TAKT_GEN_INPUTS], slot[TAKT_GEN_SLOTS];
    size_t in_count, slot_count;
} takt_gen_values;
TAKT_MUST_USE takt_status takt_gen_values_init(const takt_gen *gen, uint64_t seed,
                                               takt_gen_values *values);
void takt_gen_values_deinit(const takt_gen *gen, takt_gen_values *values);

#endif
