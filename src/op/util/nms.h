/* nms.h - non-maximum suppression of the boxes of one class. */
#ifndef TAKT_OP_UTIL_NMS_H
#define TAKT_OP_UTIL_NMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct takt_nms_box {
    double y1, x1, y2, x2, area;
} takt_nms_box;

typedef struct takt_nms {
    const double *boxes, *scores; /* four numbers of each box, and one */
    int64_t count;                /* of boxes */
    bool is_center;               /* a box is its centre, width and height; else two corners */
    int64_t most;                 /* that are taken */
    double overlap, threshold;
    takt_nms_box *taken; /* room for one of each box */
    int64_t *order;      /* the same */
} takt_nms;

/* `box` is kept; -1: the one that was looked at is not. It was compared with `compared` boxes.
 * False ends the search. */
typedef bool takt_nms_use(void *user, int64_t box, size_t compared);

/* Looks at the boxes, the best first; those whose score is NaN come last. */
void takt_nms_pick(const takt_nms *w, takt_nms_use *use, void *user);

#endif
