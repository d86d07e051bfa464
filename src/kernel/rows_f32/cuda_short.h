/* cuda_short.h - rows of at most 16 * EACH elements, each in the registers of sixteen threads. */

/* The sum over the row: a lane is a thread's. */
DEVICE float NAMED(sum_of)(const float *x, uint32_t n, summand what, float mean,
                           float *part SELF_PARAMETER)
{
    const uint32_t lane = LANE % WIDE;
    float sum = 0;
    UNROLL
    for (uint32_t k = 0; k < EACH; k++)
        if (k * WIDE + lane < n)
            sum = join(what, sum, x[k], mean);
    SYNC();
    part[LANE] = sum;
    SYNC();
    return fold(part + LANE - lane);
}

DEVICE float NAMED(max_of)(const float *x, float *part SELF_PARAMETER)
{
    const uint32_t lane = LANE % WIDE;
    float most = -INFINITY;
    UNROLL
    for (uint32_t k = 0; k < EACH; k++)
        most = x[k] > most ? x[k] : most;
    SYNC();
    part[LANE] = most;
    SYNC();
    UNROLL
    for (uint32_t k = 0; k < WIDE; k++) {
        const float other = part[LANE - lane + k];
        most = other > most ? other : most;
    }
    return most;
}

DEVICE void NAMED(write)(const takt_cuda_rows *r, const float *x, float *d, bool is_there,
                         uint32_t lane)
{
    UNROLL
    for (uint32_t k = 0; k < EACH; k++)
        if (is_there && k * WIDE + lane < r->n)
            d[k * WIDE + lane] = x[k];
}

DEVICE void NAMED(short_rows)(const takt_cuda_rows *r, float *part SELF_PARAMETER)
{
    const uint32_t lane = LANE % WIDE, n = (uint32_t)r->n;
    const uint64_t row = (uint64_t)BLOCK_X * (LANES / WIDE) + LANE / WIDE;
    const bool is_there = row < r->rows;
    const float *from = r->src + (is_there ? row : 0) * r->src_stride;
    float *d = r->dst + (is_there ? row : 0) * r->dst_stride;
    float x[EACH];
    UNROLL
    for (uint32_t k = 0; k < EACH; k++)
        x[k] = k * WIDE + lane < n ? from[k * WIDE + lane] : -INFINITY;
    if (r->op == TAKT_ROWS_SOFTMAX || r->op == TAKT_ROWS_LOG_SOFTMAX) {
        const bool is_log = r->op == TAKT_ROWS_LOG_SOFTMAX;
        const float most = NAMED(max_of)(x, part SELF);
        UNROLL
        for (uint32_t k = 0; k < EACH; k++)
            x[k] = is_log ? x[k] - most : exp_down_f32(x[k] - most);
        const float sum = NAMED(sum_of)(x, n, is_log ? EXPONENTIAL : PLAIN, 0, part SELF);
        const float scale = 1.0f / sum, log_sum = is_log ? log_f32(sum) : 0.0f;
        UNROLL
        for (uint32_t k = 0; k < EACH; k++)
            x[k] = is_log ? x[k] - log_sum : x[k] * scale;
        NAMED(write)(r, x, d, is_there, lane);
        return;
    }
    const bool centred = r->op == TAKT_ROWS_LAYER_NORM;
    const float mean = centred ? NAMED(sum_of)(x, n, PLAIN, 0, part SELF) / (float)r->n : 0.0f;
    const float squares =
        NAMED(sum_of)(x, n, centred ? SQUARE_OF_DIFFERENCE : SQUARE, mean, part SELF);
    const float scale = 1.0f / sqrtf(squares / (float)r->n + r->epsilon);
    UNROLL
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t i = k * WIDE + lane;
        float y = centred ? x[k] - mean : x[k];
        y = y * scale;
        if (r->gamma && i < n)
            y = y * r->gamma[i];
        x[k] = r->beta && i < n ? y + r->beta[i] : y;
    }
    NAMED(write)(r, x, d, is_there, lane);
}

#undef EACH
#undef NAMED
