/* canvas.h - a picture of pixels: smooth lines, discs and letters. */
#ifndef TAKT_MEASURE_CANVAS_H
#define TAKT_MEASURE_CANVAS_H

#include "base/text.h"

typedef struct takt_point {
    double x, y;
} takt_point;

typedef uint32_t takt_colour; /* 0xRRGGBB */

/* Places are in units of `scale` pixels, y downwards. */
typedef struct takt_canvas {
    takt_ctx *ctx;
    int width, height; /* in pixels */
    double scale;
    uint8_t *pixels;              /* three bytes each */
    uint8_t *cover;               /* how much of each pixel the stroke being drawn covers */
    int left, top, right, bottom; /* the area it has touched, in pixels */
} takt_canvas;

/* White, `width` x `height` units. */
TAKT_MUST_USE takt_status takt_canvas_init(takt_canvas *c, takt_ctx *ctx, int width, int height,
                                           int scale);
void takt_canvas_deinit(takt_canvas *c);

void takt_canvas_line(takt_canvas *c, takt_point from, takt_point to, double width,
                      takt_colour colour);
void takt_canvas_disc(takt_canvas *c, takt_point at, double radius, takt_colour colour);
/* From `at` on, which is on the baseline; `size` is the height of capitals. Bytes beyond ASCII
 * leave a gap. */
void takt_canvas_text(takt_canvas *c, const char *text, takt_point at, double size,
                      takt_colour colour);
double takt_canvas_text_width(const char *text, double size);

/* Appends the picture as a PNG file. */
TAKT_MUST_USE takt_status takt_canvas_png(takt_text *text, const takt_canvas *c);

#endif
