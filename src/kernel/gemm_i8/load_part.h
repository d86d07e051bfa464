/* load_part.h - sixteen bytes of a row of which fewer may be left, on NEON. */

/* The first `left` bytes at `a`, and zeros; there are `before` more bytes of the row in front. */
static inline uint8x16_t load_part(const uint8_t *a, size_t left, size_t before)
{
    static const uint8_t moves[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                      11, 12, 13, 14, 15, 16, 16, 16, 16, 16, 16,
                                      16, 16, 16, 16, 16, 16, 16, 16, 16, 16};
    if (left >= 16)
        return vld1q_u8(a);
    if (left + before >= 16) /* the last sixteen of the row, moved down */
        return vqtbl1q_u8(vld1q_u8(a + left - 16), vld1q_u8(moves + 16 - left));
    uint8_t part[16] = {0};
    for (size_t i = 0; i < left; i++)
        part[i] = a[i];
    return vld1q_u8(part);
}
