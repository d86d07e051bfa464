/* pack_scalar.c - the contract, element by element. */
#include "kernel/pack/pack.h"

#include <string.h>

static void run(const takt_pack *p)
{
    const char *from = p->src;
    char *to = p->dst;
    memset(to, 0, takt_panels_columns(p->panels, p->n) * p->k * p->bytes);
    for (size_t i = 0; i < p->k; i++)
        for (size_t j = 0; j < p->n; j++)
            memcpy(to + takt_packed_at(p->panels, p->k, p->n, i, j) * p->bytes,
                   from + (i * p->row + j * p->col) * p->bytes, p->bytes);
}

TAKT_KERNELS(pack, TAKT_KERNEL(pack, "scalar", 0, run, NULL));
