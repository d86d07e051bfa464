/* x86_column.h - columns of channels by a variant's add_taps(). */

INLINE sums_16 of_unsigned(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s)
{
    return add_taps(d, x, c, s, true);
}

INLINE sums_16 of_signed(const takt_depthwise_i8 *d, const uint8_t *const *x, size_t c, sums_16 s)
{
    return add_taps(d, x, c, s, false);
}

static void column(const takt_depthwise_i8 *d, size_t c)
{
    if (d->x_unsigned)
        walk(d, c, begin_sums(d, c), of_unsigned);
    else
        walk(d, c, begin_sums(d, c), of_signed);
}
