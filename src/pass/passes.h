/* passes.h - the passes by name. */
#ifndef TAKT_PASS_PASSES_H
#define TAKT_PASS_PASSES_H

#include "pass/pass.h"

extern const takt_pass takt_pass_cse;
extern const takt_pass takt_pass_join_scans;
extern const takt_pass takt_pass_canonicalize;
extern const takt_pass takt_pass_fold_shapes;
extern const takt_pass takt_pass_fold_identity;
extern const takt_pass takt_pass_fold_moves;
extern const takt_pass takt_pass_recognise;
extern const takt_pass takt_pass_join_attention;
extern const takt_pass takt_pass_tiny_weights;
extern const takt_pass takt_pass_bytes;
extern const takt_pass takt_pass_quantized;
extern const takt_pass takt_pass_layout;
extern const takt_pass takt_pass_fold_weights;
extern const takt_pass takt_pass_fold_branches;
extern const takt_pass takt_pass_siblings;
extern const takt_pass takt_pass_padded_taps;
/* Sizes to substitute before the passes, by index of names; -1: later. Names in the sizes of a
 * dilated convolution's image become -1: the pass depends on these sizes, and must not on a
 * name. */
TAKT_MUST_USE takt_status takt_padded_taps_spare(const takt_graph *g, int64_t *first, size_t count);
extern const takt_pass takt_pass_winograd;
/* The node is a convolution that this pass would take. */
bool takt_winograd_suits(const takt_graph *g, const takt_node *n);
extern const takt_pass takt_pass_reduce_strength;
extern const takt_pass takt_pass_widen_late;
extern const takt_pass takt_pass_narrow_activations; /* by the plan, under `numerics = fast` */
extern const takt_pass takt_pass_widen_activations;  /* by the plan, for the cpu backend */
/* Whether it would do anything: products of 16 bits. */
bool takt_widen_activations_suits(const takt_graph *g);
/* Not in the pipeline: only on request (takt_graph_narrow). */
extern const takt_pass takt_pass_precision;
/* Not in the pipeline: for models that are trained in mixed precision (takt_graph_amp). */
extern const takt_pass takt_pass_amp;
/* Not in the pipeline: for graphs that are written to files. */
extern const takt_pass takt_pass_fold_constants;

#endif
