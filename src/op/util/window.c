/* window.c - checking and reading window attributes, and the output size. */
#include "op/util/window.h"

#include "op/util/check.h"

const char *const takt_layout_names[] = {"nchw", "nhwc", NULL};

takt_status takt_window_check(takt_infer *in, const takt_window_attrs *at, int rank)
{
    const int spatial = rank - 2;
    const int ones[] = {at->kernel, at->stride, at->dilation};
    for (int i = 0; i < 3; i++) {
        if (ones[i] < 0)
            continue;
        TAKT_TRY(takt_check_list(in, ones[i], spatial, "spatial axes"));
        TAKT_TRY(takt_check_range(in, ones[i], 1, TAKT_CHECK_BIG));
    }
    if (at->kernel >= 0 && in->attr[at->kernel].count == 0)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "%s: kernel is empty; give one size for each of the "
                         "%d spatial axes",
                         in->op->name, spatial);
    TAKT_TRY(takt_check_list(in, at->pad, 2 * spatial,
                             "paddings: before each spatial axis, then after each"));
    return takt_check_range(in, at->pad, 0, TAKT_CHECK_BIG);
}

static int64_t entry(const takt_attr *attr, int which, int i, int64_t fallback)
{
    return which >= 0 && i < (int)attr[which].count ? attr[which].i64s[i] : fallback;
}

takt_window takt_window_read(const takt_attr *attr, const takt_window_attrs *at, int rank)
{
    takt_window w = {.spatial = rank - 2};
    const bool is_nhwc = attr[at->layout].i64 == TAKT_NHWC;
    w.first = is_nhwc ? 1 : 2;
    w.channel = is_nhwc ? rank - 1 : 1;
    w.ceil = at->ceil >= 0 && attr[at->ceil].boolean;
    for (int i = 0; i < TAKT_SPATIAL; i++) {
        const bool is_used = i < w.spatial;
        w.kernel[i] = is_used ? entry(attr, at->kernel, i, 1) : 1;
        w.stride[i] = is_used ? entry(attr, at->stride, i, 1) : 1;
        w.dilation[i] = is_used ? entry(attr, at->dilation, i, 1) : 1;
        w.before[i] = is_used ? entry(attr, at->pad, i, 0) : 0;
        w.after[i] = is_used ? entry(attr, at->pad, i + w.spatial, 0) : 0;
    }
    return w;
}

/* floor((size + shift) / stride) + 1, or with ceil. */
static takt_status steps(takt_infer *in, takt_dim_op round, takt_dim size, int64_t shift,
                         int64_t stride, takt_dim *out)
{
    takt_dim room = 0, count = 0;
    if (shift >= 0)
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_ADD, size, shift, &room));
    else
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_SUB, size, -shift, &room));
    TAKT_TRY(takt_dim_make(in->dims, round, room, stride, &count));
    return takt_dim_make(in->dims, TAKT_DIM_ADD, count, 1, out);
}

takt_status takt_window_out(takt_infer *in, const takt_window *w, int axis, takt_dim size,
                            takt_dim *out)
{
    const int64_t reach = w->dilation[axis] * (w->kernel[axis] - 1) + 1;
    const int64_t pad = w->before[axis] + w->after[axis];
    if (takt_dim_is_number(size) && size + pad < reach) {
        takt_infer_fail(in, TAKT_E_SHAPE,
                        "the kernel spans %lld elements of spatial axis %d, but there are only "
                        "%lld with padding",
                        (long long)reach, axis, (long long)(size + pad));
        return takt_fail_hint(in->ctx, "pad by %lld more, or use a smaller kernel or dilation",
                              (long long)(reach - size - pad));
    }
    if (!w->ceil)
        return steps(in, TAKT_DIM_FLOORDIV, size, pad - reach, w->stride[axis], out);
    /* The last window must start in the input or the padding before it. */
    takt_dim most = 0, wanted = 0;
    TAKT_TRY(steps(in, TAKT_DIM_CEILDIV, size, pad - reach, w->stride[axis], &wanted));
    TAKT_TRY(steps(in, TAKT_DIM_FLOORDIV, size, w->before[axis] - 1, w->stride[axis], &most));
    return takt_dim_make(in->dims, TAKT_DIM_MIN, wanted, most, out);
}
