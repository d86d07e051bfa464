/* fz_checkpoint.c - any bytes as a checkpoint, and any lineage in a file whose checksums are right:
 * a refused one leaves the trainer unchanged, and an accepted one can be trained further.
 *
 * The first byte says which. In the second form the next one says which slots have no value in the
 * file, and the rest is the lineage.
 */
#include <takt/takt.h>

#include "api/model.h"
#include "api/train/trainer.h"
#include "base/mem.h"
#include "fuzz/target.h"
#include "io/takt/taktp.h"
#include "test.h"
#include "util/memfs.h"
#include "util/small_training.h"

enum { SLOTS = 64 };

static small_training training;
static takt_memfs *fs;
static takt_files files;

static void begin_once(void)
{
    fs = takt_memfs_create();
    must(fs != NULL);
    files = takt_memfs_files(fs);
    must(small_training_begin(&training, &files));
    small_training_step(&training);
    must(takt_trainer_save(training.trainer, "first", "note") == TAKT_OK);
}

/* The trainer's own slots, except those in `missing`, with this lineage. */
static void write_file(unsigned missing, const uint8_t *data, size_t size)
{
    const takt_model *m = training.trainer->step.model;
    static takt_tensor slots[SLOTS];
    void *bytes;
    size_t length;
    char *lineage = malloc(size + 1);
    must(lineage != NULL && m->graph->slot_count <= SLOTS);
    if (size > 0)
        memcpy(lineage, data, size);
    lineage[size] = '\0';
    memset(slots, 0, sizeof slots);
    for (size_t i = 0; i < m->graph->slot_count; i++)
        if ((missing >> i % 8 & 1) == 0)
            must(takt_train_slot(training.trainer, m->graph->slots[i].name, &slots[i]) == TAKT_OK);
    const takt_taktp_parts parts = {.graph = m->graph, .slots = slots, .lineage = lineage};
    must(takt_taktp_write(&parts, &bytes, &length) == TAKT_OK);
    must(takt_memfs_put(fs, "fuzz", bytes, length) == 0);
    takt_mem_put(training.ctx, bytes, length);
    for (size_t i = 0; i < m->graph->slot_count; i++)
        takt_tensor_release(&slots[i]);
    free(lineage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (fs == NULL)
        begin_once();
    must(takt_trainer_load(training.trainer, "first", NULL) == TAKT_OK);
    const uint64_t steps = takt_trainer_steps(training.trainer);
    if (size >= 2 && data[0] % 2 == 1)
        write_file(data[1], data + 2, size - 2);
    else
        must(takt_memfs_put(fs, "fuzz", size > 0 ? data + 1 : data, size > 0 ? size - 1 : 0) == 0);
    const char *note = NULL;
    const takt_status status = takt_trainer_load(training.trainer, "fuzz", &note);
    must(status == TAKT_OK ? note != NULL : takt_trainer_steps(training.trainer) == steps);
    must(status != TAKT_ERR_INTERNAL);
    small_training_step(&training);
    must(test_failures == 0);
    return 0;
}
