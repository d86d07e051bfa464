/* pack_scalar.c - the contract, element by element. */
#include "kernel/pack/pack.h"

#include <string.h>

static void run(const takt_pack *p)
{
    const size_t width = takt_pack_width(p->bytes), panels = (p->n + width - 1) / width;
    const char *from = p->src;
    char *to = p->dst;
    for (size_t panel = 0; panel < panels; panel++)
        for (size_t i = 0; i < p->k; i++)
            for (size_t j = panel * width; j < (panel + 1) * width; j++, to += p->bytes)
                if (j < p->n)
                    memcpy(to, from + (i * p->row + j * p->col) * p->bytes, p->bytes);
                else
                    memset(to, 0, p->bytes);
}

TAKT_KERNELS(pack, TAKT_KERNEL(pack, "scalar", 0, run, NULL));
