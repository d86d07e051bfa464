/* map_pass.c - runs the instructions of a tile program that map_link.c has grouped, in one pass. */
#include <string.h>

#include "backend/cpu/map_machine.h"

/* The value that a pass begins with. One that is the same everywhere is left to the first link. */
static unsigned char begin_pass(takt_map_machine *x, const takt_map_instr *code, takt_chain_f32 *c)
{
    unsigned char is_scalar;
    const unsigned char first = code->op == TAKT_MAP_SELECT ? 1 : 0;
    c->x = takt_map_read(x, &code->src[first], first, &is_scalar);
    c->is_scalar = is_scalar != 0;
    if (!c->is_scalar || code->src_count == 1)
        return first;
    c->x = takt_map_read(x, &code->src[first + 1], first + 1, &is_scalar);
    c->is_scalar = is_scalar != 0;
    return first + 1;
}

/* False if the kernel does not support it: one mask for all elements. */
static bool link_of(takt_map_machine *x, const takt_map_instr *code, unsigned char at,
                    takt_chain_link *l)
{
    *l = (takt_chain_link){.op = code->op, .at = at};
    for (int k = 0; k < code->src_count; k++) {
        unsigned char is_scalar;
        if (k == at)
            continue;
        const void *data = takt_map_read(x, &code->src[k], k, &is_scalar);
        if (code->op == TAKT_MAP_SELECT && k == 0) {
            l->mask = data;
            if (is_scalar)
                return false;
        } else {
            l->with = data;
            l->is_scalar = is_scalar != 0;
        }
    }
    if (!code->is_passed)
        l->to = code->is_direct  ? (void *)takt_map_output(x, code)
                : code->is_final ? (void *)x->hot
                                 : takt_map_reg(x, code->dst);
    return true;
}

bool takt_map_pass(takt_map_machine *x, const takt_map_instr *code)
{
    takt_chain_f32 c = {.n = x->n, .count = code->links};
    const unsigned char first = begin_pass(x, code, &c);
    for (size_t k = 0; k < c.count; k++)
        if (!link_of(x, &code[k], k == 0 ? first : code[k].at, &c.link[k]))
            return false;
    x->m->chain(&c);
    const takt_map_instr *last = &code[c.count - 1];
    if (last->is_direct && last->keeps_copy)
        memcpy(takt_map_reg(x, last->dst), takt_map_output(x, last), x->n * last->narrow_bytes);
    return true;
}
