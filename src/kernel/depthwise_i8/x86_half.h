/* x86_half.h - eight channels of two positions side by side, for fewer than sixteen channels. */
#include "kernel/depthwise_i8/twice.h"

static bool takes_halves(const takt_depthwise_i8 *d)
{
    return finish_is_bytes(d->requant);
}

/* All positions; the last one is paired with itself if their number is odd. */
INLINE void walk_two(const takt_depthwise_i8 *given, size_t c, const takt_requant *q,
                     const bool x_unsigned, const finish_way way)
{
    const takt_depthwise_i8 d = *given;
    const finish_16 f = finish_begin(q, 0, 16, way);
    const sums_16 begin = q->bias ? load_sums(q->bias) : no_sums();
    uint8_t *y = (uint8_t *)d.y + c;
    for (size_t p = 0; p < d.positions; p += 2, y += 2 * d.channels) {
        const bool has_two = p + 1 < d.positions;
        const uint8_t *const *const x[2] = {d.x + p * d.taps, d.x + (p + has_two) * d.taps};
        const bytes_16 bytes = finish_bytes(&f, add_taps(&d, x, c, begin, x_unsigned, true), way);
        _mm_storel_epi64((__m128i *)(void *)y, bytes);
        if (has_two)
            _mm_storel_epi64((__m128i *)(void *)(y + d.channels), _mm_unpackhi_epi64(bytes, bytes));
    }
}

INLINE void walk_way(const takt_depthwise_i8 *d, size_t c, const takt_requant *q,
                     const bool x_unsigned)
{
    switch (finish_way_of(q, 0, 16)) {
    case FINISH_SCALE: walk_two(d, c, q, x_unsigned, FINISH_SCALE); break;
    case FINISH_RIGHT: walk_two(d, c, q, x_unsigned, FINISH_RIGHT); break;
    case FINISH_FIXED: walk_two(d, c, q, x_unsigned, FINISH_FIXED); break;
    case FINISH_WIDE: walk_two(d, c, q, x_unsigned, FINISH_WIDE); break;
    }
}

static void half(const takt_depthwise_i8 *d, size_t c)
{
    int32_t bias[16];
    twice room;
    takt_requant q = take_twice(d->requant, c, &room);
    for (size_t i = 0; q.bias != NULL && i < 16; i++)
        bias[i] = d->requant->bias[c + i % 8];
    q.bias = q.bias != NULL ? bias : NULL;
    if (d->x_unsigned)
        walk_way(d, c, &q, true);
    else
        walk_way(d, c, &q, false);
}
