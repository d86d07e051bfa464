/* map_tile.c - how many elements a tile program computes at a time. */
#include "backend/cpu/map_program.h"

#include "base/size.h"

size_t takt_map_period(const takt_map_operand *o)
{
    size_t period = 1;
    if (o->is_full || o->is_scalar || o->rank < 2 || o->stride[0] != 0)
        return 0;
    for (int d = 1; d < o->rank; d++)
        if (!takt_size_mul(period, (size_t)o->dim[d], &period))
            return 0;
    return period <= TAKT_MAP_TILE ? period : 0;
}

/* Nothing is kept between instructions: whole ranges can be processed in one go. */
static bool is_streaming(const takt_map_program *m)
{
    if (m->code_count != 1 || !m->code[0].is_direct)
        return false;
    for (size_t i = 0; i < m->operand_count; i++)
        if ((!m->operands[i].is_full && !m->operands[i].is_scalar) || m->operands[i].widens)
            return false;
    return true;
}

/* Bytes for all registers: those of the nearest cache, and of small values as many as a quarter of
 * them take, since their plans are small, too. */
static size_t room_for_registers(const takt_map_program *m)
{
    enum { NEAREST = 32 << 10, LEAST = 2 << 10, PART = 4 };
    const size_t part = m->count / PART * m->width;
    return part > NEAREST ? NEAREST : part > LEAST ? part : LEAST;
}

/* The elements of a register: fewer where registers have little room, but at least the longest
 * period. A hot tile has any size up to TAKT_MAP_TILE. */
static size_t largest_tile(const takt_map_program *m)
{
    enum { LEAST = 256 };
    const size_t room = room_for_registers(m);
    size_t least = LEAST, most = TAKT_MAP_TILE;
    for (size_t i = 0; i < m->operand_count; i++)
        least = takt_map_period(&m->operands[i]) > least ? takt_map_period(&m->operands[i]) : least;
    while (most / 2 >= least && m->registers * m->width * most > room)
        most /= 2;
    return most;
}

/* A multiple of the period of the first operand that has one, so that its tiles, and usually those
 * of all operands, are equal. */
void takt_map_set_tile(takt_map_program *m, bool is_hot)
{
    const size_t most = is_hot ? TAKT_MAP_TILE : largest_tile(m);
    m->room = m->count < most ? (m->count + 15) / 16 * 16 : most;
    m->tile = is_streaming(m) ? m->count : most;
    for (size_t i = 0; i < m->operand_count && m->tile == most; i++)
        if (takt_map_period(&m->operands[i]) > 0)
            m->tile -= m->tile % takt_map_period(&m->operands[i]);
    for (size_t i = 0; i < m->operand_count; i++) {
        const size_t period = takt_map_period(&m->operands[i]);
        m->operands[i].repeats = period > 0 && m->tile % period == 0;
    }
}
