/* walk.h - all positions of sixteen channels: sums that a variant makes, to results.
 *
 * Behind gemm_i8's finish_neon.h or finish_x86.h and depthwise_i8_body.h.
 */
#define INLINE static inline __attribute__((always_inline))

INLINE sums_16 begin_sums(const takt_depthwise_i8 *d, size_t c)
{
    const int32_t *bias = d->requant->bias;
    return bias ? load_sums(bias + c) : no_sums();
}

/* Sums to y[p][c...] where they do not become bytes. */
static void put_wide(const takt_depthwise_i8 *d, size_t p, size_t c, sums_16 s)
{
    const takt_gemm_i8 end = ending(d);
    int32_t sums[16];
    store_sums(sums, s);
    requant_row(&end, (uint32_t *)sums, p, c, 16);
}

/* How the sums of one position are made. */
typedef sums_16 sum_fn(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s);

/* Works on a copy of `d`: no byte that is stored could be part of that. */
INLINE void walk_bytes(const takt_depthwise_i8 *given, size_t c, sums_16 begin, sum_fn *sum,
                       const finish_way way)
{
    const takt_depthwise_i8 d = *given;
    const finish_16 f = finish_begin(d.requant, c, 16, way);
    const uint8_t *const *x = d.x;
    uint8_t *y = (uint8_t *)d.y + c;
    for (size_t p = 0; p < d.positions; p++, x += d.taps, y += d.channels)
        finish_put(y, finish_bytes(&f, sum(&d, x, c, begin), way), 16);
}

/* All positions of sixteen channels; `begin`: what each sum starts from. */
INLINE void walk(const takt_depthwise_i8 *d, size_t c, sums_16 begin, sum_fn *sum)
{
    const uint8_t *const *x = d->x;
    if (!finish_is_bytes(d->requant)) {
        for (size_t p = 0; p < d->positions; p++, x += d->taps)
            put_wide(d, p, c, sum(d, x, c, begin));
        return;
    }
    switch (finish_way_of(d->requant, c, 16)) {
    case FINISH_SCALE: walk_bytes(d, c, begin, sum, FINISH_SCALE); break;
    case FINISH_RIGHT: walk_bytes(d, c, begin, sum, FINISH_RIGHT); break;
    case FINISH_FIXED: walk_bytes(d, c, begin, sum, FINISH_FIXED); break;
    case FINISH_WIDE: walk_bytes(d, c, begin, sum, FINISH_WIDE); break;
    }
}
