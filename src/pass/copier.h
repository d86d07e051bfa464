/* copier.h - the frame of passes that treat every live node alike. */
#ifndef TAKT_PASS_COPIER_H
#define TAKT_PASS_COPIER_H

#include "pass/pass.h"

typedef struct takt_copier {
    const takt_graph *in;
    takt_graph *out;
    takt_arena arena; /* freed with the copier */
    unsigned char *live;
    takt_id *map;    /* per node of `in` */
    takt_id *inputs; /* room for the rewritten inputs of any node */
} takt_copier;

/* Makes the new graph; declares nothing yet. */
TAKT_MUST_USE takt_status takt_copier_init(takt_copier *c, const takt_graph *in);
/* The node with its inputs mapped; the next appended node inherits its origin. */
takt_node takt_copier_node(takt_copier *c, takt_id id);
/* Frees everything but the new graph, which it hands out if `status` is TAKT_OK. */
TAKT_MUST_USE takt_status takt_copier_done(takt_copier *c, takt_status status, takt_graph **out);

#endif
