/* checkpoint.c - everything that the next step depends on, in one file.
 *
 * A checkpoint is a compiled model (.taktp) of the step graph: every slot by name, with checksums
 * over every byte. What is not a slot (step, schedule) is an object "training" in its lineage.
 */
#include <math.h>
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"
#include "base/json.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/takt/taktp.h"
#include "plan/basis.h"

/* ---- saving ---- */

static const char *precision_of(const takt_trainer *t)
{
    return takt_dtype_name(t->spec.has_amp ? t->spec.amp : TAKT_F32);
}

static void write_lineage(const takt_trainer *t, const char *note, takt_text *text)
{
    takt_json_writer json;
    takt_json_begin(&json, text, false);
    takt_json_open(&json, '{');
    takt_json_put_open(&json, "training", '{');
    takt_json_put_unsigned(&json, "step", t->steps);
    takt_json_put_unsigned(&json, "seed", t->seed);
    takt_json_put_unsigned(&json, "skipped", t->skipped);
    takt_json_put_string(&json, "amp", precision_of(t));
    takt_json_put_integer(&json, "shards", t->shards);
    takt_json_put_string(&json, "optimizer", t->spec.optimizer->name);
    takt_json_put_string(&json, "schedule", t->schedule.kind->name);
    takt_json_put_number(&json, "scale", t->schedule.scale);
    if (isfinite(t->schedule.best))
        takt_json_put_number(&json, "best", t->schedule.best);
    takt_json_put_unsigned(&json, "bad", t->schedule.bad);
    takt_json_put_string(&json, "note", note != NULL ? note : "");
    takt_json_close(&json, '}');
    takt_json_close(&json, '}');
}

static takt_status write_slots(const takt_trainer *t, const char *lineage, void **bytes,
                               size_t *length)
{
    const takt_graph *g = t->step.model->graph;
    takt_arena arena;
    takt_arena_init(&arena, t->ctx);
    takt_tensor *slots = takt_arena_array(&arena, g->slot_count, sizeof *slots);
    takt_status status = slots != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->slot_count && status == TAKT_OK; i++) {
        status = takt_train_slot(t, g->slots[i].name, &slots[i]);
    }
    if (status == TAKT_OK)
        status = takt_taktp_write(
            &(takt_taktp_parts){.graph = g, .slots = slots, .lineage = lineage}, bytes, length);
    for (size_t i = 0; slots != NULL && i < g->slot_count; i++)
        takt_tensor_release(&slots[i]);
    takt_arena_deinit(&arena);
    return status;
}

takt_status takt_checkpoint_bytes(const takt_trainer *t, const char *note, void **bytes,
                                  size_t *length)
{
    takt_text lineage;
    takt_text_init(&lineage, t->ctx);
    write_lineage(t, note, &lineage);
    takt_status status = lineage.status;
    if (status == TAKT_OK)
        status = write_slots(t, takt_text_get(&lineage), bytes, length);
    takt_text_deinit(&lineage);
    return status;
}

takt_status takt_trainer_save(const takt_trainer *t, const char *path, const char *note)
{
    void *bytes;
    size_t length;
    TAKT_TRY(takt_checkpoint_bytes(t, note, &bytes, &length));
    const takt_status status = takt_write_file(t->ctx, path, bytes, length);
    takt_mem_put(t->ctx, bytes, length);
    return status;
}

/* ---- loading ---- */

static const char other_folder[] = "resume with the model and flags it was made with, or save this "
                                   "training to another folder";

static takt_status foreign(takt_trainer *t, const char *path, const char *what)
{
    takt_fail(t->ctx, TAKT_E_TRAIN_CHECKPOINT, "%s %s", path, what);
    return takt_fail_hint(t->ctx, "%s", other_folder);
}

static takt_status not_one(takt_trainer *t, const char *path)
{
    takt_fail(t->ctx, TAKT_E_TRAIN_CHECKPOINT, "%s is not a checkpoint", path);
    return takt_fail_hint(t->ctx, "--checkpoint names the folder of an earlier training; "
                                  "checkpoint.0 and checkpoint.1 in it are its own");
}

/* Another format, such as text, must not be read in its place. A file that cannot be opened is left
 * to the reader. */
static takt_status check_magic(takt_trainer *t, const char *path)
{
    const takt_files *files = &t->ctx->files;
    char magic[sizeof TAKTP_MAGIC - 1];
    size_t length;
    takt_file *file;
    if (files->open_read(files->user, path, &file) != 0)
        return TAKT_OK;
    takt_status status = takt_file_length(t->ctx, path, file, &length);
    if (status == TAKT_OK && length >= sizeof magic)
        status = takt_file_part(t->ctx, path, file, 0, magic, sizeof magic);
    files->close(files->user, file);
    if (status == TAKT_OK &&
        (length < sizeof magic || memcmp(magic, TAKTP_MAGIC, sizeof magic) != 0))
        status = not_one(t, path);
    return status;
}

/* The step in the file. It is not a model to compile again, so the reader's hints do not fit. */
static takt_status load_step(takt_trainer *t, const char *path, takt_model **from)
{
    char message[TAKT_ERROR_TEXT];
    TAKT_TRY(check_magic(t, path));
    const takt_status status = takt_model_load(t->ctx, path, NULL, from);
    if (status != TAKT_ERR_FORMAT && status != TAKT_ERR_UNSUPPORTED)
        return status;
    const bool is_newer = status == TAKT_ERR_UNSUPPORTED;
    memcpy(message, takt_last_error_info(t->ctx)->message, sizeof message);
    takt_fail(t->ctx, TAKT_E_TRAIN_CHECKPOINT, "%s", message);
    return takt_fail_hint(t->ctx, "%s",
                          is_newer ? "resume with the version of Takt that wrote it"
                                   : "the file is cut off or damaged: resume from the other "
                                     "checkpoint of its folder, or from a copy");
}

/* Every slot of the step, with its type, and no others. */
static takt_status compare_slots(takt_trainer *t, const char *path, const takt_model *from)
{
    const takt_graph *g = t->step.model->graph;
    char own[TAKT_TYPE_TEXT], other[TAKT_TYPE_TEXT];
    if (from->graph->slot_count != g->slot_count)
        return foreign(t, path, "is of another model or optimizer: it has other slots");
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *slot = takt_graph_find_slot(from->graph, g->slots[i].name);
        if (slot == NULL) {
            takt_fail(t->ctx, TAKT_E_TRAIN_CHECKPOINT,
                      "%s is of another model or optimizer: it has no %s", path, g->slots[i].name);
            return takt_fail_hint(t->ctx, "%s", other_folder);
        }
        takt_type_text(g->dims, &g->slots[i].type, own);
        takt_type_text(from->graph->dims, &slot->type, other);
        if (strcmp(own, other) != 0) {
            takt_fail(t->ctx, TAKT_E_TRAIN_CHECKPOINT,
                      "%s is of another model: its %s is %s, the model's is %s", path, slot->name,
                      other, own);
            return takt_fail_hint(t->ctx, "%s", other_folder);
        }
    }
    return TAKT_OK;
}

static uint64_t whole(const takt_json *object, const char *key)
{
    const takt_json *v = takt_json_get(object, key);
    return v != NULL && v->is_integer && v->integer >= 0 ? (uint64_t)v->integer : 0;
}

static double real(const takt_json *object, const char *key, double absent)
{
    const takt_json *v = takt_json_get(object, key);
    return v != NULL && v->kind == TAKT_JSON_NUMBER ? v->number : absent;
}

static bool says(const takt_json *object, const char *key, const char *text)
{
    const takt_json *v = takt_json_get(object, key);
    return v != NULL && v->kind == TAKT_JSON_STRING && strcmp(v->text, text) == 0;
}

static takt_status other_optimizer(takt_trainer *t, const char *path, const takt_json *name)
{
    const bool has_name = name != NULL && name->kind == TAKT_JSON_STRING;
    takt_fail(t->ctx, TAKT_E_TRAIN_CHECKPOINT, "%s was made with another optimizer%s%.40s, not %s",
              path, has_name ? ", " : "", has_name ? name->text : "", t->spec.optimizer->name);
    return takt_fail_hint(t->ctx, "%s", other_folder);
}

static takt_status read_lineage(takt_trainer *t, const char *path, const takt_model *from,
                                takt_arena *arena, const takt_json **training)
{
    const takt_json *root;
    if (from->lineage == NULL)
        return not_one(t, path);
    TAKT_TRY(takt_json_parse(t->ctx, arena, from->lineage, strlen(from->lineage), &root));
    *training = root->kind == TAKT_JSON_OBJECT ? takt_json_get(root, "training") : NULL;
    if (*training == NULL || (*training)->kind != TAKT_JSON_OBJECT)
        return not_one(t, path);
    if (!says(*training, "optimizer", t->spec.optimizer->name))
        return other_optimizer(t, path, takt_json_get(*training, "optimizer"));
    if (whole(*training, "shards") != (uint64_t)t->shards)
        return foreign(t, path, "was made with another number of shards");
    if (!says(*training, "amp", precision_of(t)) &&
        (t->spec.has_amp || takt_json_get(*training, "amp") != NULL))
        return foreign(t, path, "was made in another precision (--amp)");
    return TAKT_OK;
}

static void take(takt_trainer *t, takt_model *from, const takt_json *training)
{
    takt_model *to = t->step.model;
    for (size_t i = 0; i < to->graph->slot_count; i++) {
        const takt_slot *slot = takt_graph_find_slot(from->graph, to->graph->slots[i].name);
        takt_tensor *value = &from->slots[slot - from->graph->slots];
        const takt_tensor old = to->slots[i];
        to->slots[i].storage = value->storage;
        to->slots[i].offset = value->offset;
        *value = old; /* dies with `from` */
    }
    to->key = 0;
    takt_basis_forget(t->ctx, &to->bases);
    t->steps = whole(training, "step");
    t->seed = whole(training, "seed");
    t->skipped = whole(training, "skipped");
    t->schedule.scale = real(training, "scale", 1);
    t->schedule.best = real(training, "best", INFINITY);
    t->schedule.bad = whole(training, "bad");
    t->eval_step = 0;
    takt_session_destroy(t->step.session);
    t->step.session = NULL;
}

takt_status takt_trainer_load(takt_trainer *t, const char *path, const char **note)
{
    takt_model *from;
    takt_arena arena;
    const takt_json *training = NULL;
    TAKT_TRY(load_step(t, path, &from));
    takt_arena_init(&arena, t->ctx);
    takt_status status = read_lineage(t, path, from, &arena, &training);
    if (status == TAKT_OK)
        status = compare_slots(t, path, from);
    if (status == TAKT_OK) {
        const takt_json *text = takt_json_get(training, "note");
        const char *words = text != NULL && text->kind == TAKT_JSON_STRING ? text->text : "";
        t->loaded_note = takt_arena_text(&t->arena, words, strlen(words));
        status = t->loaded_note != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    }
    if (status == TAKT_OK) {
        take(t, from, training);
        if (note != NULL)
            *note = t->loaded_note;
    }
    takt_arena_deinit(&arena);
    takt_model_destroy(from);
    return status;
}
