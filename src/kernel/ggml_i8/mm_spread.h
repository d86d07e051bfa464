/* mm_spread.h - a super-block of a panel, spread to what tiles of smmla read.
 *
 * A part of ggml_i8_i8mm.c. Columns are in pairs: pair j has columns 2 * j and 2 * j + 1.
 */
typedef struct mm_block {
    int8_t level[32][8][16];  /* [k / 8][pair][column of the pair, k % 8], less the zero point */
    int32_t scale[16][8][4];  /* [part][pair]: s0 s1 s0 s1 */
    int8_t minimum[2][8][16]; /* [part / 8][pair][column of the pair, part % 8] */
    float d[16], least[16];   /* least: negative */
} mm_block;

FIXED void spread_levels(const takt_ggml_format format, const uint8_t *p, mm_block *to)
{
    const int8x16_t zero = vdupq_n_s8((int8_t)ggml_shape_of(format).zero);
    const int runs = ggml_runs(format);
    for (int i = 0; i < 8 / runs; i++) {
        const ggml_group from = ggml_group_at(format, p, i);
        UNROLL for (int q = 0; q < runs; q++) for (int w = 0; w < 8; w += 2)
            UNROLL for (size_t u = 0; u < VECTORS; u++)
        {
            const vi x = ggml_run_level(format, &from, q, w, u);
            const vi y = ggml_run_level(format, &from, q, w + 1, u);
            int8_t(*at)[16] = to->level[(i * runs + q) * 4 + w / 2] + 2 * u;
            vst1q_s8(at[0], vsubq_s8(vreinterpretq_s8_s32(vzip1q_s32(x, y)), zero));
            vst1q_s8(at[1], vsubq_s8(vreinterpretq_s8_s32(vzip2q_s32(x, y)), zero));
        }
    }
}

static void spread_scales(const ggml_parts *by, size_t parts, mm_block *to)
{
    for (size_t part = 0; part < parts; part++)
        for (size_t u = 0; u < VECTORS; u++) {
            const int64x2_t x = vreinterpretq_s64_s32(vi_load_i8(by->scale[part] + VF * u));
            vst1q_s32(to->scale[part][2 * u], vreinterpretq_s32_s64(vzip1q_s64(x, x)));
            vst1q_s32(to->scale[part][2 * u + 1], vreinterpretq_s32_s64(vzip2q_s64(x, x)));
        }
}

/* Eight parts by sixteen columns, transposed: halves are interleaved three times. */
static void spread_minima(const int8_t (*minimum)[16], int8_t (*to)[16])
{
    int8x16_t x[8], y[8];
    for (size_t i = 0; i < 8; i++)
        x[i] = vld1q_s8(minimum[i]);
    for (int times = 0; times < 3; times++) {
        for (size_t i = 0; i < 4; i++) {
            y[2 * i] = vzip1q_s8(x[i], x[i + 4]);
            y[2 * i + 1] = vzip2q_s8(x[i], x[i + 4]);
        }
        memcpy(x, y, sizeof x);
    }
    for (size_t i = 0; i < 8; i++)
        vst1q_s8(to[i], x[i]);
}

FIXED void spread(const takt_ggml_format format, const uint8_t *p, mm_block *to)
{
    const ggml_shape z = ggml_shape_of(format);
    ggml_parts by;
    ggml_parts_of(format, p, &by);
    spread_levels(format, p, to);
    spread_scales(&by, (size_t)(256 / z.span), to);
    for (size_t u = 0; u < VECTORS; u++) {
        vf_store(to->d + VF * u, ggml_half(format, p, 0, u));
        if (z.has_min)
            vf_store(to->least + VF * u, vf_neg(ggml_half(format, p, 1, u)));
    }
    for (size_t i = 0; z.has_min && i < (size_t)(32 / z.span); i++)
        spread_minima(by.minimum + 8 * i, to->minimum[i]);
}

/* Column `column` of formats without panels, whose block is at `b`. */
FIXED void spread_column(const takt_ggml_format format, const uint8_t *b, size_t column,
                         mm_block *to)
{
    const size_t pair = column / 2, side = column % 2;
    const int each = open_scales(format) == 2 ? 2 : 1;
    UNROLL for (int i = 0; i < 8; i++)
    {
        open_part o;
        open_levels(format, b, i, false, &o);
        UNROLL for (int h = 0; h < 2; h++)
        {
            vst1_s8(to->level[4 * i + 2 * h][pair] + 8 * side, vget_low_s8((int8x16_t)o.level[h]));
            vst1_s8(to->level[4 * i + 2 * h + 1][pair] + 8 * side,
                    vget_high_s8((int8x16_t)o.level[h]));
        }
        UNROLL for (int h = 0; h < each; h++) to->scale[each * i + h][pair][side] =
            to->scale[each * i + h][pair][side + 2] = o.scale[h];
    }
    to->d[column] = open_d(format, b);
}
