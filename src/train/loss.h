/* loss.h - the quantities that training minimises.
 *
 * A loss is a record in its own file, train/loss/<name>.c. It appends the *sum* of the losses of
 * all samples and how many of them count: the division comes once, after the last micro-batch, so
 * that ignored labels and a short last batch have the right weight. */
#ifndef TAKT_TRAIN_LOSS_H
#define TAKT_TRAIN_LOSS_H

#include "op/ops.h"
#include "train/hyper.h"

enum { TAKT_LOSS_HYPERS = 4 };

typedef struct takt_loss_site {
    takt_graph *g;
    const double *hyper;
    takt_id output;     /* of the model, before the removed activation */
    takt_id labels;     /* the input that the loss requested */
    takt_id extra;      /* the additional input that the record names */
    takt_id weights;    /* f32, one per class, or TAKT_NONE */
    takt_id sum, count; /* results: f32 scalars */
    bool may_be_empty;  /* result: count may be 0, where no label counts */
    takt_id hits;       /* result: how many samples are right, or TAKT_NONE */
} takt_loss_site;

typedef struct takt_loss {
    const char *name, *summary;
    takt_hyper hyper[TAKT_LOSS_HYPERS];
    /* An activation at the end of the model that belongs to the loss, or NULL. */
    const takt_op *activation;
    bool takes_weights; /* class weights are meaningful */
    bool has_classes;   /* whole numbers as labels are places on the output's last axis */
    int rank;           /* that the output must have; 0: any */
    const char *extra;  /* a further input of the output's type, or NULL */
    /* The type of the labels; `type` is first that of the output. */
    void (*labels)(takt_type *type);
    void (*labels_by)(const double *hyper, takt_type *type); /* instead, or NULL */
    void (*build)(takt_loss_site *site);
} takt_loss;

extern const takt_loss *const takt_losses[]; /* ends with NULL */

/* "cross_entropy" or "huber:delta=0.5". */
TAKT_MUST_USE takt_status takt_loss_parse(takt_ctx *ctx, const char *text, const takt_loss **loss,
                                          double hyper[static TAKT_LOSS_HYPERS]);

/* ---- shared by losses ---- */

/* A loss with this number finds the classes on the last axis of its output: the step moves them
 * there. */
#define TAKT_LOSS_AXIS                                                                             \
    {                                                                                              \
        "axis", -1, -1, 15,                                                                        \
            "that the classes are on; 1: [batch, classes, ...], as in segmentation"                \
    }

/* Labels of the output's type, and class numbers without its last axis. */
void takt_labels_alike(takt_type *type);
void takt_labels_of_classes(takt_type *type);
/* The sum of all elements, and their number, as the site's results. */
void takt_loss_sum(takt_loss_site *site, takt_id each);
/* x summed over everything. */
takt_id takt_sum_all(takt_graph *g, takt_id x);
/* How many elements x has, f32. */
takt_id takt_count_all(takt_graph *g, takt_id x);
/* Sets `hits`: rows of the output whose greatest element is at the label, each times its `weight`,
 * f32 or bool, or TAKT_NONE. */
void takt_loss_hits(takt_loss_site *site, takt_id weight);
/* A loss op with its `reduction=none`. */
takt_id takt_loss_each(takt_loss_site *site, const takt_op *op, size_t count,
                       const takt_named_attr *attrs);
/* The sum of a loss op over all rows, f32. */
takt_id takt_loss_total(takt_loss_site *site, const takt_op *op, size_t count,
                        const takt_named_attr *attrs);

#endif
