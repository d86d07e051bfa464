/* cpu_caps.c - the processor's abilities for callers. */
#include <takt/cpu.h>

#include <stdio.h>
#include <string.h>

#include "kernel/isa.h"
#include "os/cpu.h"
#include "os/pool.h"

static void add_word(char *to, size_t size, const char *word)
{
    const size_t length = strlen(to);
    if (length + strlen(word) + 2 <= size)
        (void)snprintf(to + length, size - length, "%s%s", length > 0 ? " " : "", word);
}

void takt_cpu_caps(takt_cpu *cpu)
{
    if (cpu == NULL)
        return;
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    *cpu = (takt_cpu){.logical = facts.logical,
                      .usable = facts.usable,
                      .cores = facts.usable_cores,
                      .threads = takt_pool_default_threads(),
                      .memory = takt_memory_allowed()};
    (void)snprintf(cpu->model, sizeof cpu->model, "%s", facts.model);
    for (int i = 0; i < TAKT_CACHE_LEVELS; i++)
        cpu->cache[i] = (takt_cpu_cache){.bytes = facts.data[i].bytes,
                                         .shared_by = facts.data[i].shared_by,
                                         .line_bytes = facts.data[i].line_bytes};
    const takt_isa_set here = takt_isa_detect();
    for (int isa = 0; isa < 32; isa++)
        if ((here >> isa & 1) != 0 && takt_isa_name((takt_isa)isa) != NULL)
            add_word(cpu->isas, sizeof cpu->isas, takt_isa_name((takt_isa)isa));
}
