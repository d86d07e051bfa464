/* twice.h - requantisation of eight channels of two positions side by side. */
/* What belongs to eight columns, twice. */
typedef struct twice {
    float scale[16];
    double wide[16];
    int32_t multiplier[16], shift[16];
} twice;

static takt_requant take_twice(const takt_requant *q, size_t c, twice *t)
{
    takt_requant two = *q;
    if (!q->scale_per_column)
        return two;
    for (size_t i = 0; i < 16; i++) {
        const size_t j = c + i % 8;
        t->scale[i] = q->scale != NULL ? q->scale[j] : 0;
        t->wide[i] = q->wide != NULL ? q->wide[j] : 0;
        t->multiplier[i] = q->multiplier != NULL ? q->multiplier[j] : 0;
        t->shift[i] = q->multiplier != NULL ? q->shift[j] : 0;
    }
    two.scale = t->scale;
    two.wide = q->wide != NULL ? t->wide : NULL;
    two.multiplier = q->multiplier != NULL ? t->multiplier : NULL;
    two.shift = t->shift;
    return two;
}
