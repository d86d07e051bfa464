/* resize.c - planes of numbers in other sizes. */
#include "api/model.h"
#include "api/session/session.h"
#include "api/train/data.h"

static bool is_planes(const takt_tensor_view *v)
{
    return v->dtype == TAKT_F32 && v->rank == 3 && v->data != NULL && v->dims[0] > 0 &&
           v->dims[1] > 0 && v->dims[2] > 0 && v->device == 0 && takt_view_is_dense(v);
}

takt_status takt_picture_resize(takt_ctx *ctx, const takt_tensor_view *from,
                                const takt_tensor_view *to)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, from);
    TAKT_NEED(ctx, to);
    if (!is_planes(from) || !is_planes(to) || from->dims[0] != to->dims[0])
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_picture_resize: views are dense f32[channels, height, width] on the "
                         "host, with the same channels");
    const takt_form own = {from->dims[0], from->dims[1], from->dims[2]};
    const takt_form wanted = {to->dims[0], to->dims[1], to->dims[2]};
    return takt_form_resize(ctx, from->data, &own, to->data, &wanted);
}
