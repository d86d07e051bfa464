/* nms.h - non-maximum suppression of the boxes of one class. */
#ifndef TAKT_OP_UTIL_NMS_H
#define TAKT_OP_UTIL_NMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct takt_nms {
    const double *boxes, *scores; /* four numbers of each box, and one */
    int64_t count;                /* of boxes */
    bool is_center;               /* a box is its centre, width and height; else two corners */
    int64_t most;                 /* that are taken */
    double overlap, threshold;
    unsigned char *gone; /* room for one of each box */
} takt_nms;

/* Calls `take` for each box that is kept, the best first, until it returns false. */
void takt_nms_pick(const takt_nms *w, bool (*take)(void *user, int64_t box), void *user);

#endif
