/* whole.h - a panel of whole sixteens of rows whose vectors go straight to their places, in one
 * loop. A part of the x86-64 variants of block_panels_body.h. */

FIXED void whole_fixed(const takt_block_panels *g, size_t panel, const places *to,
                       const unsigned bits, const bool subtracts)
{
    const takt_blocks b = g->b; /* not changed by the stores, as are the others */
    const size_t k = g->k, first = g->first;
    const uint32_t *w = b.words + panel * takt_blocks_words(bits, takt_blocks_deep(b.k)) +
                        takt_blocks_words(bits, first);
    places at = *to;
    block_parameters o;
    block_begin(&b, &o);
    for (size_t row = 0, block = first / b.block; row < k; block++) {
        const size_t next = (block + 1) * b.block - first, end = next < k ? next : k;
        block_open(&b, panel, block, &o);
        for (; row < end; row += STEP, w += bits / 2 * SIDE) {
            fill(w, &o, &at, bits, subtracts);
            UNROLL for (size_t v = 0; v < VECTORS; v++) at.at[v] += STEP * at.width[v];
        }
    }
}

#define WHOLES(bits)                                                                               \
    static void whole_##bits(const takt_block_panels *g, size_t panel, const places *to)           \
    {                                                                                              \
        if (block_subtracts(&g->b))                                                                \
            whole_fixed(g, panel, to, bits, true);                                                 \
        else                                                                                       \
            whole_fixed(g, panel, to, bits, false);                                                \
    }
WHOLES(2)
WHOLES(4)
WHOLES(8)

static void whole(const takt_block_panels *g, size_t panel, const places *to)
{
    if (g->b.bits == 2)
        whole_2(g, panel, to);
    else if (g->b.bits == 4)
        whole_4(g, panel, to);
    else
        whole_8(g, panel, to);
}
