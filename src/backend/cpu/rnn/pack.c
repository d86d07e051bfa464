/* pack.c - recurrent weights as the products of a cell read them. */
#include <string.h>

#include "backend/cpu/rnn/run.h"

/* Gates of the block side by side: rows of `ordered` if R is transposed, else columns. */
static void order_block(const takt_rnn_facts *f, const takt_rnn_product *p, const char *r,
                        size_t block, char *ordered)
{
    const size_t units = f->m.units, all = f->m.gates * units, first = block * f->block;
    const size_t n = units - first < f->block ? units - first : f->block;
    const size_t runs = f->m.is_transposed ? 1 : units, run = f->m.is_transposed ? n * units : n;
    for (size_t i = 0; i < runs; i++)
        for (size_t k = 0; k < p->count; k++) {
            const size_t at = (size_t)f->m.gate[p->gates[k]] * units + first;
            const char *from = r + f->size * (f->m.is_transposed ? at * units : i * all + at);
            char *to = ordered + f->wide * (i * p->count + k) * run;
            if (takt_rnn_widens(f))
                takt_rnn_widen(f, to, from, run);
            else
                memcpy(to, from, run * f->size);
        }
}

void takt_rnn_pack(const takt_rnn_facts *f, const void *r, void *ordered, void *to)
{
    const size_t units = f->m.units;
    for (size_t h = 0; h < f->halves; h++)
        for (size_t b = 0; b < f->blocks; b++) {
            const takt_rnn_product *p = &f->product[h];
            const size_t left = units - b * f->block, n = left < f->block ? left : f->block;
            order_block(f, p, r, b, ordered);
            const takt_pack pack = {.k = units,
                                    .n = p->count * n,
                                    .src = ordered,
                                    .row = f->m.is_transposed ? 1 : p->count * n,
                                    .col = f->m.is_transposed ? units : 1,
                                    .dst = (char *)to + f->wide * (p->at + b * p->block),
                                    .bytes = f->wide,
                                    .panels = f->panels};
            f->pack(&pack);
        }
}
