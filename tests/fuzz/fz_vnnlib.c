/* fz_vnnlib.c - any bytes as VNN-LIB: a valid one has finite boxes and known elements. */
#include <math.h>

#include "base/ctx.h"
#include "fuzz/target.h"
#include "util/meter.h"
#include "verify/property.h"

static void check(const takt_property *p)
{
    must(p->case_count > 0 && p->input_count > 0 && p->output_count > 0);
    for (size_t i = 0; i < p->case_count; i++) {
        const takt_case *c = &p->cases[i];
        for (size_t k = 0; k < p->input_count && !c->is_empty; k++)
            must(isfinite(c->lo[k]) && isfinite(c->hi[k]) && c->lo[k] <= c->hi[k]);
        for (size_t k = 0; k < c->row_count; k++) {
            must(isfinite(c->rows[k].bound) && c->rows[k].count > 0);
            for (size_t j = 0; j < c->rows[k].count; j++) {
                const takt_term *t = &c->rows[k].terms[j];
                must(t->index < (t->is_input ? p->input_count : p->output_count));
                must(t->factor != 0);
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter m = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&m);
    const takt_config config = {.allocator = &allocator, .limits.bytes = 1 << 28};
    takt_ctx *ctx;
    takt_property p;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    const takt_status status =
        takt_property_read(ctx, "fuzz", (takt_span){(const char *)data, size}, &p);
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    if (status == TAKT_OK)
        check(&p);
    takt_property_deinit(&p);
    takt_ctx_destroy(ctx);
    must(m.live == 0);
    return 0;
}
