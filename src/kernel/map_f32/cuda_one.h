/* cuda_one.h - one element-wise operation on EACH values a thread: a template, after cuda_ops.h. */

/* Values of a thread are quads, a block's width apart. */
DEVICE uint64_t NAMED(place)(uint32_t i SELF_PARAMETER)
{
    return (uint64_t)BLOCK_X * (LANES * EACH) + (i / 4 * LANES + LANE) * 4 + i % 4;
}

DEVICE void NAMED(read)(NAMED(values) * r, const float *from, bool is_one, uint64_t count,
                        bool by_quads SELF_PARAMETER)
{
    if (is_one) {
        const float x = *from;
        UNROLL
        for (uint32_t i = 0; i < EACH; i++)
            r->v[i] = x;
    } else if (by_quads) {
        UNROLL
        for (uint32_t i = 0; i < EACH; i += 4)
            spread(r->v + i, *(const quad *)(from + NAMED(place)(i SELF)));
    } else {
        UNROLL
        for (uint32_t i = 0; i < EACH; i++) {
            const uint64_t at = NAMED(place)(i SELF);
            r->v[i] = at < count ? from[at] : 0.0f;
        }
    }
}

DEVICE void NAMED(one)(const takt_cuda_map_one *m, bool is_common SELF_PARAMETER)
{
    const bool by_quads = NAMED(place)(EACH - 1 SELF) < m->count && is_aligned(m->dst) &&
                          (m->a_one || is_aligned(m->a)) && (m->b_one || is_aligned(m->b));
    NAMED(values) r, a, b;
    NAMED(read)(&a, m->a, m->a_one != 0, m->count, by_quads SELF);
    if (m->b != NULL)
        NAMED(read)(&b, m->b, m->b_one != 0, m->count, by_quads SELF);
    else
        b = a;
    if (is_common)
        NAMED(common)((uint8_t)m->op, &r, &a, &b);
    else
        NAMED(light)((uint8_t)m->op, &r, &a, &b, &b);
    UNROLL
    for (uint32_t i = 0; i < EACH; i += 4) {
        const uint64_t at = NAMED(place)(i SELF);
        if (by_quads) {
            *(quad *)(m->dst + at) = quad_of(r.v + i);
            continue;
        }
        UNROLL
        for (uint32_t j = 0; j < 4; j++)
            if (at + j < m->count)
                m->dst[at + j] = r.v[i + j];
    }
}

#undef EACH
#undef NAMED
