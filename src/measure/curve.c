/* curve.c - the loss over the steps of a training, as a picture. */
#include <takt/report.h>

#include <math.h>

#include "api/model.h"
#include "base/arena.h"
#include "base/report.h"
#include "measure/plot.h"
#include "measure/png.h"

enum { POINTS = 400 }; /* of the training loss: more cannot be seen */

/* Means over equal parts of the steps, so that a long training shows a line instead of a cloud. */
static size_t thin(const takt_curve *c, takt_plot_point *to)
{
    const size_t parts = c->count < POINTS ? c->count : POINTS;
    size_t made = 0;
    for (size_t p = 0; p < parts; p++) {
        const size_t first = p * c->count / parts, end = (p + 1) * c->count / parts;
        double x = 0, y = 0, count = 0;
        for (size_t i = first; i < end; i++)
            if (isfinite(c->loss[i])) {
                x += (double)c->step[i];
                y += c->loss[i];
                count++;
            }
        if (count > 0)
            to[made++] = (takt_plot_point){.x = x / count, .y = y / count, .name = "training"};
    }
    return made;
}

static takt_status draw(takt_ctx *ctx, const takt_curve *c, takt_arena *arena, bool is_png,
                        takt_text *text)
{
    (void)ctx;
    takt_plot_point *points = takt_arena_array(arena, POINTS + c->checks, sizeof *points);
    if (points == NULL)
        return TAKT_ERR_MEMORY;
    size_t count = thin(c, points);
    for (size_t i = 0; i < c->checks; i++)
        if (isfinite(c->check_loss[i]))
            points[count++] = (takt_plot_point){.x = (double)c->check_step[i],
                                                .y = c->check_loss[i],
                                                .series = 1,
                                                .name = "validation"};
    const takt_plot plot = {.title = c->title != NULL ? c->title : "loss",
                            .x_label = "step",
                            .y_label = "loss",
                            .joined = true,
                            .points = points,
                            .count = count};
    if (is_png)
        return takt_plot_png(text, &plot);
    takt_plot_svg(text, &plot);
    return text->status;
}

takt_status takt_curve_write(takt_ctx *ctx, const takt_curve *curve, bool is_png,
                             takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, curve);
    TAKT_NEED(ctx, sink);
    takt_arena arena;
    takt_text text;
    takt_arena_init(&arena, ctx);
    takt_text_init(&text, ctx);
    const takt_status status = draw(ctx, curve, &arena, is_png, &text);
    takt_arena_deinit(&arena);
    if (status == TAKT_OK)
        return takt_sink_text(ctx, &text, sink, user);
    takt_text_deinit(&text);
    return status;
}
