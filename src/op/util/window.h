/* window.h - geometry of convolutions and pools: kernel, stride, dilation, padding.
 *
 * One to three spatial axes. Everything is held for three; absent axes have size, kernel, stride
 * and dilation 1, so loops need no cases.
 */
#ifndef TAKT_OP_UTIL_WINDOW_H
#define TAKT_OP_UTIL_WINDOW_H

#include "op/ops.h"

enum { TAKT_SPATIAL = 3, TAKT_NCHW = 0, TAKT_NHWC = 1 };
extern const char *const takt_layout_names[];

typedef struct takt_window {
    int spatial; /* axes, 1 to 3 */
    int first;   /* the first of them in x and y */
    int channel; /* axis of the channels in x and y */
    int64_t kernel[TAKT_SPATIAL], stride[TAKT_SPATIAL], dilation[TAKT_SPATIAL];
    int64_t before[TAKT_SPATIAL], after[TAKT_SPATIAL];
    bool ceil; /* a last window may extend beyond the padding */
} takt_window;

/* Attribute indices of an op. */
typedef struct takt_window_attrs {
    int kernel, stride, dilation, pad, layout, ceil; /* kernel and ceil: -1 if it has none */
} takt_window_attrs;

/* Checks that lists have the right length and entries in range, for a tensor of `rank`. */
TAKT_MUST_USE takt_status takt_window_check(takt_infer *in, const takt_window_attrs *at, int rank);
/* Reads checked attributes; without a kernel attribute the caller sets `kernel`. */
takt_window takt_window_read(const takt_attr *attr, const takt_window_attrs *at, int rank);
/* Output dimension of spatial axis `axis`, whose input dimension is `size`. */
TAKT_MUST_USE takt_status takt_window_out(takt_infer *in, const takt_window *w, int axis,
                                          takt_dim size, takt_dim *out);

/* Sizes of a concrete array along the window's three axes. */
static inline void takt_window_sizes(const takt_window *w, const takt_array *a,
                                     int64_t size[TAKT_SPATIAL])
{
    for (int i = 0; i < TAKT_SPATIAL; i++)
        size[i] = i < w->spatial ? a->dim[w->first + i] : 1;
}

/* Flat index of (n, c, position) in an array of this layout. */
static inline size_t takt_window_flat(const takt_window *w, const takt_array *a, int64_t n,
                                      int64_t c, const int64_t at[TAKT_SPATIAL])
{
    const bool last = w->first == 1;
    size_t flat = (size_t)n;
    if (!last)
        flat = flat * (size_t)a->dim[w->channel] + (size_t)c;
    for (int i = 0; i < w->spatial; i++)
        flat = flat * (size_t)a->dim[w->first + i] + (size_t)at[i];
    return last ? flat * (size_t)a->dim[w->channel] + (size_t)c : flat;
}

/* Steps `at` to the next position of a box of `size`; false after the last. */
static inline bool takt_window_next(const int64_t size[TAKT_SPATIAL], int64_t at[TAKT_SPATIAL])
{
    for (int i = TAKT_SPATIAL - 1; i >= 0; i--) {
        if (++at[i] < size[i])
            return true;
        at[i] = 0;
    }
    return false;
}

/* The input position that tap `tap` of output position `out` reads; false if it is padding. */
static inline bool takt_window_tap(const takt_window *w, const int64_t size[TAKT_SPATIAL],
                                   const int64_t *out, const int64_t *tap, int64_t *in)
{
    bool inside = true;
    for (int i = 0; i < TAKT_SPATIAL; i++) {
        in[i] = out[i] * w->stride[i] + tap[i] * w->dilation[i] - w->before[i];
        inside = inside && in[i] >= 0 && in[i] < size[i];
    }
    return inside;
}

#endif
