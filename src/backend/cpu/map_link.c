/* map_link.c - finds the instructions of a tile program that run in one pass.
 *
 * Tiles lie in L1, where loads and stores bound an operation: a value that only the next operation
 * reads need not be stored. Instructions keep their order, so no bit changes.
 */
#include "backend/cpu/map_program.h"

static bool can_link(const takt_map_instr *code)
{
    return code->is_linked_cast ||
           (code->fn != NULL && code->is_f32 && !code->narrows && takt_chain_has(code->op));
}

static bool reads(const takt_map_instr *code, uint32_t value)
{
    for (int k = 0; k < code->src_count; k++)
        if (code->src[k].source == TAKT_MAP_REG && code->src[k].index == value)
            return true;
    return false;
}

/* Whether the value of instruction i is read by one after the next. */
static bool read_later(const takt_map_program *m, size_t i)
{
    const uint32_t value = m->code[i].dst;
    for (size_t j = i + 1; j < m->code_count; j++) {
        if (j > i + 1 && reads(&m->code[j], value))
            return true;
        if (m->code[j].dst == value)
            return false;
    }
    return false;
}

/* The operand that is the result of the previous instruction; -1 if there is none or more than one.
 */
static int place_of(const takt_map_instr *code, uint32_t value)
{
    int at = -1;
    for (int k = 0; k < code->src_count; k++)
        if (code->src[k].source == TAKT_MAP_REG && code->src[k].index == value) {
            if (at >= 0)
                return -1;
            at = k;
        }
    return code->op == TAKT_MAP_SELECT && at == 0 ? -1 : at;
}

/* Instruction i + 1 can take the value of instruction i from where it was computed. */
static bool follows(takt_map_program *m, size_t i)
{
    takt_map_instr *code = &m->code[i], *next = code + 1;
    const bool is_later = read_later(m, i);
    if (!can_link(next) || takt_map_is_predicate(code->op) || (code->is_direct && is_later))
        return false;
    const int at = place_of(next, code->dst);
    if (at < 0)
        return false;
    next->at = (unsigned char)at;
    code->is_passed = !is_later && !code->is_direct;
    return true;
}

/* Whether the result of the instruction `count` after i would overwrite a mask that one of them
 * reads: a pass writes floats there before it has read the bytes of later elements. */
static bool is_over_mask(const takt_map_program *m, size_t i, size_t count)
{
    const uint32_t value = m->code[i + count].dst;
    for (size_t k = i; k < i + count; k++)
        if (m->code[k].op == TAKT_MAP_SELECT && m->code[k].src[0].source == TAKT_MAP_REG &&
            m->code[k].src[0].index == value)
            return true;
    return false;
}

/* Whether one of the `count` instructions from i on reads or writes the register. */
static bool uses(const takt_map_program *m, size_t i, size_t count, uint32_t value)
{
    for (size_t k = i; k < i + count; k++)
        if (m->code[k].dst == value || reads(&m->code[k], value))
            return true;
    return false;
}

/* Whether an operand of the instruction `count` after i is gathered or widened into the register of
 * one of them: a pass prepares all operands first. */
static bool is_staged_over(const takt_map_program *m, size_t i, size_t count)
{
    const takt_map_instr *code = &m->code[i + count];
    for (int k = 0; k < code->src_count; k++) {
        if (code->src[k].source != TAKT_MAP_VIEW)
            continue;
        const takt_map_operand *o = &m->operands[code->src[k].index];
        if ((!o->is_full && !o->is_scalar && uses(m, i, count, o->gathered)) ||
            (o->widens && uses(m, i, count, o->widened)))
            return true;
    }
    return false;
}

void takt_map_link(takt_map_program *m)
{
    if (m->chain == NULL)
        return;
    for (size_t i = 0, count; i < m->code_count; i += count) {
        count = 1;
        while (can_link(&m->code[i]) && count < TAKT_CHAIN_MOST && i + count < m->code_count &&
               !is_over_mask(m, i, count) && !is_staged_over(m, i, count) &&
               follows(m, i + count - 1))
            count++;
        m->code[i].links = count > 1 ? (unsigned char)count : 0;
    }
}
