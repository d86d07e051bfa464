/* quantize.h - the state of a quantisation: data, choices and measurements. */
#ifndef TAKT_SHRINK_QUANTIZE_H
#define TAKT_SHRINK_QUANTIZE_H

#include <takt/shrink.h>

#include "shrink/gptq.h"
#include "shrink/observe.h"
#include "shrink/score.h"
#include "shrink/time.h"

typedef struct takt_quantizing {
    takt_ctx *ctx;
    const takt_model *model;
    takt_quantize_options o;
    const takt_quant_kind *kind;
    takt_range_method method;
    bool is_gptq, is_adaround, is_awq;
    double percent; /* of TAKT_RANGE_PERCENTILE */
    double drop;    /* the budget; negative: none */
    int top;        /* of the metric */
    takt_arena arena;
    takt_graph *base;
    takt_shrink_layers layers;
    takt_feed calib, test;
    takt_shrink_timer timer;
    bool *asked; /* per layer: not kept */
    bool *taken;
    bool *wanted;     /* per node, if all requested layers are taken */
    const char **why; /* per layer: taken or left out, and the reason */
    takt_quant_weights *weights;
    takt_quant_grid *grids;
    double **moments; /* per layer, for gptq; or NULL */
    takt_layer_noise *noise;
    takt_comparison *times;
    uint64_t *lost_by_layer; /* per layer: scored samples that become wrong if only this layer is
                              * rounded */
    takt_score before, after;
    takt_quantize_summary summary;
} takt_quantizing;

/* The type of that name; NULL: int8. */
TAKT_MUST_USE takt_status takt_quant_kind_read(takt_ctx *ctx, const char *type,
                                               const takt_quant_kind **kind);
/* The graph with the layers that are taken, without dead nodes. */
TAKT_MUST_USE takt_status takt_quantizing_build(takt_quantizing *z, takt_graph **out);
/* Leaves layers out until the budget is met; scores before and after. */
TAKT_MUST_USE takt_status takt_quantizing_budget(takt_quantizing *z);
/* How many values between integer layers are floats in memory, in the plan of this model. */
TAKT_MUST_USE takt_status takt_quantizing_returns(const takt_model *m, const char *sizes,
                                                  size_t *count);
/* The measurements, and the reason for every layer. */
TAKT_MUST_USE takt_status takt_quantizing_report(takt_quantizing *z, takt_format format,
                                                 takt_sink_fn *sink, void *user);

#endif
