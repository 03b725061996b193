/* The output of an export: the file without its samples, the samples batch by batch, the public part of the model,
 * the dataset card, and the names of the files. */
#include "base/own.h"
#include "base/sentence.h"
#include "rdp/pairs.h"
#include "share/export.h"
#include "share/reader.h"
#include "share/sampler.h"
#include "share/summarize.h"
#include "text/batch.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 64,
    BATCH_VALUES = 1 << 22 /* values in all samples of a batch; a text with more is a batch alone */
};

/* --- the output without its samples --- */

/* Writes everything but the samples, then the record.  The file states the ledger's count, so the ledger stays locked
 * from the count to the record.  Fails before the record if the disk is too full. */
nvdp_status nvdp__export_begin_file(struct nvdp__export *export) {
    nvdp__autoptr(nvdp__ledger_close) struct nvdp__ledger *ledger = NULL;
    struct nvdp__ledger_release release = nvdp__export_record(export);
    struct nvdp__release *file = &export->release;
    const bool splits = export->options->input == NULL, labels = export->options->with_labels;
    const uint64_t promise = export->from.run.config.certified_releases;
    size_t k = 0; /* text in the file */
    NVDP_TRY(nvdp__export_open_ledger(export, &ledger));
    if (ledger != NULL)
        NVDP_TRY(nvdp__ledger_check(ledger, &release, (const nvdp__text_hash *)export->count.hash,
                                    promise, &export->count.spent));
    NVDP_TRY(nvdp__release_guarantee(export->ctx, &export->facts));
    NVDP_TRY(nvdp__release_attributes(&export->release.attributes, &export->facts));
    if (export->options->sign != NULL)
        NVDP_TRY(nvdp__sign_prepare(&export->sign, &export->release.attributes));
    if (export->summary == NULL && !export->facts.persons)
        NVDP_TRY(NVDP__NEW(export->ctx, file->id, export->from.texts));
    if (splits) NVDP_TRY(NVDP__NEW(export->ctx, file->split, export->from.texts));
    if (labels) NVDP_TRY(NVDP__NEW(export->ctx, file->label, export->from.texts));
    for (const struct nvdp__export_part *part = export->from.part;
         part < export->from.part + export->from.parts && file->id != NULL; part++)
        for (size_t i = 0; i < part->data->count; i++, k++) {
            const struct nvdp_dataset *data = part->data;
            file->id[k] = data->index[i];
            if (splits) file->split[k] = part->split;
            if (labels) file->label[k] = data->label != NULL ? data->label[i] : NAN;
        }
    NVDP_TRY(nvdp__release_create(&export->release,
                                  nvdp__format_by_ending(nvdp__formats, export->options->out),
                                  export->options->out));
    NVDP_TRY(
        nvdp__check_room(export->ctx, export->options->out, nvdp__release_bytes(&export->release)));
    if (ledger == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__ledger_add(ledger, &release, (const nvdp__text_hash *)export->count.hash,
                              promise, &export->count.spent));
    nvdp__ledger_added(ledger, export->count.code);
    export->count.counted = true;
    nvdp__memory_release(&export->count.memory); /* the texts are counted: frees their hashes */
    export->count.hash = export->count.person = export->count.look = NULL;
    return NVDP_OK;
}

/* --- the samples --- */

/* Allocates memory for one batch.  With large samples, a batch has fewer texts, but at least one. */
nvdp_status nvdp__export_allocate(struct nvdp__export *export) {
    struct nvdp_context *ctx = export->ctx;
    size_t dim = export->like.dim;
    size_t per_text = export->longest_rows * dim * export->release.shape.samples;
    size_t fits = nvdp__max(BATCH_VALUES / nvdp__max(per_text, 1), 1);
    size_t batch = nvdp__min(export->options->batch, fits), longest = 0;
    export->draw.texts = batch;
    for (size_t p = 0; p < export->from.parts; p++)
        longest = nvdp__max(longest, export->from.part[p].longest);
    longest = nvdp__max(longest, export->from.joint.longest);
    size_t threads = (size_t)nvdp_context_threads(ctx);
    size_t rows = batch * export->release.shape.samples * export->longest_rows;
    NVDP_TRY(nvdp__model_plan(export->from.run.model, batch, longest, false));
    NVDP_TRY(nvdp__batch_create(ctx, batch, longest, &export->draw.batch));
    NVDP_TRY(nvdp_posteriors_create(ctx, batch, batch * (export->form.single ? 1 : longest), dim,
                                    export->form.weights, &export->draw.posteriors));
    size_t in_double = export->longest_rows * (dim + 1) * sizeof(double);
    size_t bytes =
        nvdp__export_is_fixed(export) ? nvdp__sampler_bytes(export->longest_rows, dim) : in_double;
    export->draw.scratch_bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    NVDP_TRY(NVDP__ARRAYS(ctx, &export->memory,
                          {&export->draw.scratch, threads, export->draw.scratch_bytes},
                          {&export->draw.z, rows * dim, sizeof(float)}, /* float or int32_t */
                          {&export->draw.log_pi, rows, sizeof(float)},
                          NVDP__ITEMS(export->draw.first_row, batch + 1)));
    nvdp__model_describe(export->from.run.model, export->draw.posteriors);
    return NVDP_OK;
}

nvdp_status nvdp__export_infer(struct nvdp__export *export, const struct nvdp__export_part *part,
                               size_t first, size_t n) {
    struct nvdp_model *model = export->from.run.model;
    struct nvdp_posteriors *posteriors = export->draw.posteriors;
    if (part->vectors.width > 0) {
        NVDP_TRY(nvdp__export_infer_vectors(model, export->draw.batch, n,
                                            part->vectors.x + first * part->vectors.width));
    } else {
        nvdp__batch_fill(export->draw.batch, part->data, NULL, first, n);
        NVDP_TRY(nvdp__model_infer(model, export->draw.batch));
    }
    export->draw.replaced += nvdp__model_replaced(model);
    posteriors->texts = n;
    for (size_t i = 0; i <= n; i++) {
        posteriors->offset[i] = export->form.single ? i : (size_t) export->draw.batch->offset[i];
    }
    NVDP_TRY(nvdp__model_posterior(model, 0, posteriors));
    NVDP_TRY(nvdp_posteriors_check(export->ctx, posteriors,
                                   part->vectors.width > 0 ? export->options->vectors
                                                           : export->options->run));
    return nvdp__export_is_fixed(export) && export->summary == NULL
               ? nvdp__release_fits(export->ctx, posteriors, &export->grids)
               : NVDP_OK;
}

/* Draws sample s of text i of the batch.  `text` is the index of the text in the file. */
static void draw(struct nvdp__export *export, size_t i, size_t s, size_t text) {
    size_t thread = (size_t)omp_get_thread_num(),
           rows = nvdp__release_rows(export->draw.posteriors, i);
    size_t at = export->draw.first_row[i] + s * rows, dim = export->release.shape.dim;
    char *scratch = export->draw.scratch + thread * export->draw.scratch_bytes;
    const struct nvdp__sampler sampler = {export->draw.posteriors, export->draw.noise, (uint32_t)s};
    if (nvdp__export_is_fixed(export)) {
        nvdp__sampler_draw_fixed(&sampler, &export->grids, i, text, scratch,
                                 (int32_t *)export->draw.z + at * dim,
                                 (int32_t *)export->draw.log_pi + at);
        return;
    }
    double *z = (double *)(void *)scratch, *log_pi = z + export->longest_rows * dim;
    nvdp__sampler_draw(&sampler, i, text, SIZE_MAX, z, log_pi);
    nvdp__round_f16(rows * dim, z, NVDP__LARGEST_F16, (float *)export->draw.z + at * dim);
    nvdp__round_f16(rows, log_pi, 0, (float *)export->draw.log_pi + at);
}

nvdp_status nvdp__export_open_noise(struct nvdp__export *export) {
    export->draw.noise = (struct nvdp__noise){.seed = export->options->seed};
    if (!export->options->insecure) {
        NVDP_TRY(nvdp__release_key_create(export->ctx, &export->draw.key));
        export->draw.noise.release = &export->draw.key;
    }
    return NVDP_OK;
}

nvdp_status nvdp__export_draw_batch(struct nvdp__export *export, size_t first, size_t n) {
    const size_t samples = export->release.shape.samples;
    for (size_t i = 0; i < n; i++)
        export->draw.first_row[i + 1] =
            export->draw.first_row[i] + samples * nvdp__release_rows(export->draw.posteriors, i);
#pragma omp parallel for schedule(dynamic) num_threads(nvdp_context_threads(export->ctx))
    for (size_t k = 0; k < n * samples; k++)
        draw(export, k / samples, k % samples, first + k / samples);
    return export->release.format->append(
        &export->release, (size_t) export->release.offset[first * samples],
        export->draw.first_row[n], export->draw.z, export->draw.log_pi);
}

/* Computes, draws and writes the samples of all texts, batch by batch. */
nvdp_status nvdp__export_draw(struct nvdp__export *export) {
    struct nvdp__meter meter;
    size_t done = 0; /* finished texts, and index of the next text in the file */
    NVDP_TRY(nvdp__export_open_noise(export));
    nvdp__meter_begin(&meter, export->ctx, "export", "text", 0, export->from.texts);
    for (const struct nvdp__export_part *part = export->from.part;
         part < export->from.part + export->from.parts; part++) {
        const size_t count = part->data->count;
        for (size_t first = 0, n; first < count; first += n) {
            n = nvdp__min(count - first, export->draw.texts);
            NVDP_TRY(nvdp__check_cancelled(export->ctx, "export: cancelled"));
            NVDP_TRY(nvdp__export_infer(export, part, first, n));
            NVDP_TRY(nvdp__export_draw_batch(export, done, n));
            done += n;
            nvdp__meter_update(&meter, done, (double)done, "text", NAN);
        }
    }
    nvdp__meter_end(&meter);
    nvdp__model_warn_replaced(export->from.run.model, export->draw.replaced, export->from.texts);
    return NVDP_OK;
}

/* --- the public part of the model: sealed block and classifier --- */

nvdp_status nvdp__export_public_model(const struct nvdp_model *model, const char *model_id,
                                      const char *directory) {
    const struct nvdp__model_info *info = &model->info;
    nvdp__autoptr(nvdp__reader_free) struct nvdp__reader *reader = NULL;
    /* The configuration lacks the feed-forward width, so it is taken from the weights. */
    size_t inner = nvdp__params_find(&model->params, "nvdp.intermediate.dense.weight");
    struct nvdp__reader_shape shape = {
        .dim = info->nvib.latent_dim,
        .heads = info->nvib.latent_heads,
        .inner = inner != SIZE_MAX ? model->params.entry[inner].shape[0] : 0,
        .outputs = info->outputs,
        .act = info->bert.hidden_act,
        .eps = info->bert.layer_norm_eps,
        .pool = info->nvib.pool,
        .kappa = info->nvib.kappa,
        .weights = info->nvib.weights == NVDP__WEIGHTS_LEARNED,
        .residual = info->nvib.row_index == NVDP__ROW_INDEX_TRAINED,
        .regression = info->task.regression,
    };
    struct nvdp__reader_info metadata = {
        .task = info->task.name,
        .labels = info->task.labels,
        .model_id = model_id,
        .statement = "The sealed block and the classifier of a sender's model.  They were trained "
                     "on the sender's texts and labels; the divergences of a file of embeddings do "
                     "not cover what these weights reveal.",
    };
    NVDP_TRY(nvdp__reader_create(model->ctx, &shape, false, &reader));
    if (nvdp__reader_adopt(reader, &model->params) != reader->params.count)
        return nvdp__fail(model->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: a model of method %s has no public part", directory,
                          nvdp_method_name(info->method));
    return nvdp__reader_save(reader, &metadata, directory);
}

/* --- the dataset card: the README.md beside a shared file --- */

static const char *size_category(size_t texts) {
    static const char *const names[] = {"n<1K",      "1K<n<10K", "10K<n<100K",
                                        "100K<n<1M", "1M<n<10M", "10M<n<100M"};
    size_t limit = 1000, category = 0;
    while (texts >= limit && category + 1 < sizeof names / sizeof *names) {
        limit *= 10;
        category++;
    }
    return names[category];
}

/* Escapes the texts of a card for Markdown, YAML, Python and shell, so that no name can end its quotation. */
static char *plain_text(const struct nvdp__release *release,
                        void (*put)(FILE *to, const char *text), const char *text) {
    nvdp__autofree char *plain = nvdp__plain_copy(release->ctx, text);
    return plain != NULL ? nvdp__escaped(release->ctx, put, plain) : NULL;
}

static char *attribute(const struct nvdp__release *release, const char *name) {
    return plain_text(release, nvdp__put_markdown,
                      nvdp__attributes_text(&release->attributes, name));
}

static char *command(const struct nvdp__release *release, const char *program, const char *name) {
    nvdp__autofree char *word = nvdp__escaped(release->ctx, nvdp__put_shell, name);
    nvdp__autofree char *line =
        word != NULL ? nvdp__format(release->ctx, "nvdp %s %s", program, word) : NULL;
    return line != NULL ? nvdp__escaped(release->ctx, nvdp__put_code, line) : NULL;
}

nvdp_status nvdp__card_write(const struct nvdp__release *release, const char *of, const char *path,
                             const struct nvdp__release_facts *facts, struct nvdp__output *to) {
    const char *name = nvdp__file_name(of);
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const char *bold = facts->useful ? "" : "**";
    nvdp__autofree char *code = plain_text(release, nvdp__put_code, name);
    nvdp__autofree char *quoted = nvdp__escaped(release->ctx, nvdp__put_quoted, name);
    nvdp__autofree char *verify = command(release, "verify", name);
    nvdp__autofree char *reuse = command(release, "reuse", name);
    nvdp__autofree char *task = attribute(release, "task"), *method = attribute(release, "method");
    nvdp__autofree char *format = attribute(release, "nvdp_format");
    nvdp__autofree char *lines = /* lines of the statement */
        nvdp__strdup(release->ctx, nvdp__attributes_text(&release->attributes, "statement"));
    char *next = NULL;
    const struct nvdp__summary_facts *summary = facts->summary;
    const size_t rows = summary != NULL ? summary->plan.units : shape->texts;
    const char *what = summary != NULL ? "Noisy summary of a collection of" : "Noisy embeddings of",
               *unit = nvdp__release_unit(facts);
    NVDP_TRY(NVDP__MADE(code, quoted, verify, reuse, task, method, format, lines));
    NVDP_TRY(nvdp__output_open(release->ctx, path, to));
    NVDP_TRY(nvdp__output_printf(to,
                                 "---\npretty_name: %s %zu %ss\ntags:\n- text-embeddings\n"
                                 "%s- nvdp\nsize_categories:\n- %s\n",
                                 what, rows, unit, facts->useful ? "- differential-privacy\n" : "",
                                 size_category(rows)));
    if (release->format->table)
        NVDP_TRY(nvdp__output_printf(to, "configs:\n- config_name: default\n  data_files: %s\n",
                                     quoted));
    NVDP_TRY(nvdp__output_printf(to, "---\n\n# %s %zu %ss\n\n%s%s%s\n\n", what, rows, unit, bold,
                                 facts->guarantee, bold));
    if (summary != NULL)
        NVDP_TRY(nvdp__output_printf(
            to,
            "%s holds one noisy matrix of %zu x %zu numbers, its first item, and %zu synthetic "
            "rows that are computed from the matrix (%s). No text, and no sample of a text, is in "
            "it.",
            code, shape->dim, shape->dim, summary->rows, format));
    else
        NVDP_TRY(nvdp__output_printf(
            to,
            "%s holds %zu random sample%s of each of %zu %ss of task %s, vectors of %zu numbers, "
            "drawn by mechanism %s (%s). The texts are not in it.",
            code, shape->samples, shape->samples == 1 ? "" : "s", shape->texts, unit, task,
            shape->dim, method, format));
    NVDP_TRY(nvdp__output_printf(to, "\n\n## What it reveals\n\n"));
    for (char *line = strtok_r(lines, "\n", &next); line != NULL;
         line = strtok_r(NULL, "\n", &next)) {
        nvdp__autofree char *item = plain_text(release, nvdp__put_markdown, line);
        NVDP_TRY(NVDP__MADE(item));
        NVDP_TRY(nvdp__output_printf(to, "- %s\n", item));
    }
    NVDP_TRY(nvdp__output_printf(to, "\n## Loading\n\n"));
    NVDP_TRY(release->format->example(to, shape, quoted));
    NVDP_TRY(nvdp__output_printf(
        to, "\n## Checking\n\n%s recomputes what the file states and compares", verify));
    return summary != NULL ? nvdp__output_printf(to, ".\n")
                           : nvdp__output_printf(to, "; %s trains a reader on it.\n", reuse);
}

/* --- commit --- */

/* Commits the file and its card.  Removes an old card before the file gets its name and commits the new card
 * afterwards, so a card never describes another file. */
nvdp_status nvdp__export_publish(struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    nvdp__auto(nvdp__output_abort) struct nvdp__output card = {0};
    if (options->card != NULL) {
        NVDP_TRY(
            nvdp__card_write(&export->release, options->out, options->card, &export->facts, &card));
        if (options->overwrite) NVDP_TRY(nvdp__remove(export->ctx, card.path));
    }
    NVDP_TRY(nvdp__release_commit(&export->release, options->overwrite));
    export->count.published = true;
    return options->card != NULL ? nvdp__output_commit(&card, options->overwrite) : NVDP_OK;
}
