/* phase.c - phases are determined by dependencies, so they survive every pass. */
#include "train/phase.h"

#include <string.h>

#include "train/step.h"

const char *const takt_phase_names[TAKT_PHASES] = {"forward", "gradient", "optimizer"};

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

bool takt_is_training_step(const takt_graph *g)
{
    for (size_t i = 0; i < g->output_count; i++)
        if (strcmp(g->outputs[i].name, TAKT_STEP_SUM) == 0)
            return true;
    return false;
}

static bool is_of_training(const char *slot)
{
    return begins(slot, TAKT_STEP_SLOT) || begins(slot, TAKT_STEP_GRAD) ||
           begins(slot, TAKT_STEP_EMA);
}

/* Scalars that only an update reads; those of dropout are the model's. */
static bool is_of_update(const char *input)
{
    return begins(input, "train.") && strcmp(input, TAKT_STEP_SEED) != 0 &&
           strcmp(input, TAKT_STEP_STEP) != 0 && strcmp(input, TAKT_STEP_FIRST) != 0;
}

static void mark(unsigned char *phase, takt_id id, takt_phase value)
{
    if (id != TAKT_NONE)
        phase[id] = (unsigned char)value;
}

void takt_phases(const takt_graph *g, unsigned char *phase)
{
    memset(phase, TAKT_PHASE_GRADIENT, g->count);
    for (size_t i = 0; i < g->input_count; i++)
        if (is_of_update(g->inputs[i].name))
            mark(phase, g->inputs[i].id, TAKT_PHASE_OPTIMIZER);
    for (size_t i = 0; i < g->slot_count; i++)
        if (is_of_training(g->slots[i].name))
            mark(phase, g->slots[i].value, TAKT_PHASE_OPTIMIZER);
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE && phase[g->nodes[i].in[k]] == TAKT_PHASE_OPTIMIZER)
                phase[i] = TAKT_PHASE_OPTIMIZER;
    for (size_t i = 0; i < g->slot_count; i++) /* next values of parameters, and states of layers */
        if (g->slots[i].next != TAKT_NONE && g->slots[i].next != g->slots[i].value)
            mark(phase, g->slots[i].next,
                 g->slots[i].is_trainable || is_of_training(g->slots[i].name) ||
                         begins(g->slots[i].name, TAKT_STEP_SCALES)
                     ? TAKT_PHASE_OPTIMIZER
                     : TAKT_PHASE_FORWARD);
    for (size_t i = 0; i < g->output_count; i++)
        if (strcmp(g->outputs[i].name, TAKT_STEP_NORM) != 0 &&
            strcmp(g->outputs[i].name, TAKT_STEP_FITS) != 0)
            mark(phase, g->outputs[i].id, TAKT_PHASE_FORWARD);
    for (size_t i = g->count; i-- > 0;)
        for (uint32_t k = 0; k < g->nodes[i].in_count && phase[i] == TAKT_PHASE_FORWARD; k++)
            mark(phase, g->nodes[i].in[k], TAKT_PHASE_FORWARD);
}

takt_phase takt_phase_of(const unsigned char *phase, const takt_id *nodes, size_t count)
{
    takt_phase latest = TAKT_PHASE_FORWARD;
    for (size_t i = 0; i < count; i++)
        latest = phase[nodes[i]] > latest ? (takt_phase)phase[nodes[i]] : latest;
    return latest;
}
