/* lineage.c - an ONNX file's description of itself, as JSON. */
#include "base/json.h"
#include "base/utf8.h"
#include "io/onnx/import.h"

enum { LONGEST = 4096 }; /* of a value that is kept */

/* If memory runs out, the output records it. */
static const char *text_of(takt_json_writer *json, takt_arena *arena, takt_span s)
{
    const bool is_kept = s.length <= LONGEST && takt_utf8_check(s.at, s.length) == s.length;
    const char *made = is_kept ? takt_arena_text(arena, s.at, s.length)
                               : takt_arena_format(arena, "(%zu bytes)", s.length);
    if (made == NULL)
        json->text->status = TAKT_ERR_MEMORY;
    return made != NULL ? made : "";
}

static void pair(takt_json_writer *json, takt_arena *arena, const char *key, takt_span value)
{
    if (value.length == 0)
        return;
    takt_json_key(json, key);
    takt_json_string(json, text_of(json, arena, value));
}

void takt_import_lineage(const takt_import *im, takt_text *text)
{
    const takt_pb_model *m = &im->model;
    takt_arena *arena = (takt_arena *)(uintptr_t)&im->arena; /* texts live as long as the import */
    takt_json_writer json;
    takt_json_begin(&json, text, false);
    takt_json_open(&json, '{');
    takt_json_key(&json, "format");
    takt_json_string(&json, "onnx");
    takt_json_key(&json, "ir_version");
    takt_json_integer(&json, m->ir_version);
    takt_json_key(&json, "opsets");
    takt_json_open(&json, '{');
    for (size_t i = 0; i < m->opset_count && i < 64; i++) {
        const takt_span domain = m->opsets[i].domain;
        bool is_old = false; /* skl2onnx repeats itself */
        for (size_t k = 0; k < i; k++)
            is_old = is_old || takt_onnx_same(m->opsets[k].domain, domain);
        if (is_old)
            continue;
        takt_json_key(&json, domain.length > 0 ? text_of(&json, arena, domain) : "ai.onnx");
        takt_json_integer(&json, m->opsets[i].version);
    }
    takt_json_close(&json, '}');
    pair(&json, arena, "producer", m->producer);
    pair(&json, arena, "producer_version", m->producer_version);
    pair(&json, arena, "domain", m->domain);
    pair(&json, arena, "doc", m->doc);
    if (m->metadata_count > 0) {
        takt_json_key(&json, "metadata");
        takt_json_open(&json, '{');
        for (size_t i = 0; i < m->metadata_count && i < 256; i++) {
            takt_json_key(&json, text_of(&json, arena, m->metadata[i].key));
            takt_json_string(&json, text_of(&json, arena, m->metadata[i].value));
        }
        takt_json_close(&json, '}');
    }
    takt_json_close(&json, '}');
}
