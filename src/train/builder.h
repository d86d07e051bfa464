/* builder.h - the graph of a training step while it is built. */
#ifndef TAKT_TRAIN_BUILDER_H
#define TAKT_TRAIN_BUILDER_H

#include "train/step.h"

/* A parameter that is trained. */
typedef struct takt_step_param {
    const char *name;
    takt_id weight, grad;
} takt_step_param;

typedef struct takt_step_builder {
    takt_graph *g;
    const takt_step_spec *spec;
    takt_step_notes *notes;
    takt_loss_site site;
    takt_port *outputs; /* of the model, by their ids in `g` */
    size_t output_count;
    takt_step_param *params;
    size_t count;
    takt_id *rate, (*scalar)[TAKT_OPT_SCALARS]; /* by group; those of no group first */
    takt_id fresh;      /* share of the new weights in their averages; TAKT_NONE without them */
    takt_id apply;      /* TAKT_NONE without accumulation */
    takt_id is_good;    /* the loss is finite: otherwise nothing changes */
    takt_id has_labels; /* some label counts: otherwise no weight changes; TAKT_NONE: always */
    takt_id scale;      /* of the loss; TAKT_NONE without one */
    takt_id fits;       /* all gradients are finite: otherwise no weight changes; or TAKT_NONE */
} takt_step_builder;

/* Declares the loss scale, if the gradients need one; before they are appended. */
TAKT_MUST_USE takt_status takt_step_begin_scale(takt_step_builder *b);
/* Checks whether the gradients, of all shards if they are accumulated, are finite, and computes the
 * next scale. */
void takt_step_end_scale(takt_step_builder *b);
/* Appends clipping and the update of every parameter. */
TAKT_MUST_USE takt_status takt_step_append_update(takt_step_builder *b);

#endif
