/* Giving texts away: every text's samples, drawn once, rounded, written, forgotten. */
#include "share/export.h"

#include "base/file.h"
#include "share/public_model.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEFAULT_BATCH = 32, DEFAULT_MEASURED = 1000, MAX_SAMPLES = 1 << 16, MAX_BATCH = 65536 };

struct nvdp_export_config nvdp_export_config_default(void) {
    return (struct nvdp_export_config){
        .samples = 1,
        .batch = DEFAULT_BATCH,
        .seed = 1,
        .order = 1.1,
        .delta = 1e-5,
        .measure_texts = DEFAULT_MEASURED,
    };
}

/* --- what is asked for --- */

static nvdp_status check_options(struct nvdp_context *ctx,
                                 const struct nvdp_export_config *options) {
    if (options->run == NULL || options->out == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a path, found none",
                          options->run == NULL ? "run" : "out");
    if (options->input == NULL && options->splits == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "input or splits: expected one, found neither");
    if (options->samples < 1 || options->samples > MAX_SAMPLES)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "samples: expected 1 to %d, found %zu",
                          MAX_SAMPLES, options->samples);
    if (options->batch < 1 || options->batch > MAX_BATCH)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "batch: expected 1 to %d, found %zu", MAX_BATCH,
                          options->batch);
    if (!(options->order > 0))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "order: expected more than 0, found %g",
                          options->order);
    if (!(options->delta > 0 && options->delta < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "delta: expected 0 to 1, found %g",
                          options->delta);
    struct stat info;
    if (!options->overwrite && stat(options->out, &info) == 0 && info.st_size > 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: the file exists; use --overwrite",
                          options->out);
    if (options->model_out == NULL) return NVDP_OK;
    return nvdp__public_model_check(ctx, options->model_out, options->overwrite);
}

static nvdp_status open_run(struct nvdp__export *export) {
    struct nvdp_run_config config = {.run = export->options->run};
    NVDP_RETURN_IF_FAILED(nvdp__run_open(export->ctx, &config, &export->run));
    const struct nvdp_model *model = export->run.model;
    if (!model->bottleneck.mechanism->private_)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "%s: method %s adds no noise: its texts cannot be given away",
                          export->options->run, nvdp_method_name(model->info.method));
    if (export->options->model_out != NULL && !nvdp__model_form(model).weights)
        return nvdp__fail(export->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: method %s has no sealed block: there is no public part to write to "
                          "%s",
                          export->options->run, nvdp_method_name(model->info.method),
                          export->options->model_out);
    if (model->info.nvib.query == NVDP_QUERY_CLEAN)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "%s: query clean: this model reads past its bottleneck, so its sample is "
                          "not all it needs; train with query sampled",
                          export->options->run);
    return NVDP_OK;
}

/* --- all of it --- */

static nvdp_status prepare_noise(struct nvdp__export *export) {
    export->noise = (struct nvdp__noise){.seed = export->options->seed};
    if (export->options->insecure_seed) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__release_key_create(export->ctx, &export->key));
    export->noise.release = &export->key;
    return NVDP_OK;
}

static void collect_facts(struct nvdp__export *export) {
    struct nvdp__release_facts *facts = &export->facts;
    facts->info = nvdp_model_info(export->run.model);
    facts->form = export->form;
    facts->lambda_g = export->run.config.lambda_g;
    facts->lambda_d = export->run.config.lambda_d;
    facts->texts = export->texts;
    facts->samples = export->options->samples;
    facts->labels = export->options->with_labels;
    facts->insecure_seed = export->options->insecure_seed;
    facts->delta = export->options->delta;
    nvdp__creation_date(facts->created);
}

static void report(const struct nvdp__export *export, struct nvdp_export_result *out) {
    struct stat info = {0};
    *out = (struct nvdp_export_result){
        .texts = export->texts,
        .samples = export->shape.samples,
        .components = export->longest_rows / (size_t) export->shape.kappa,
        .dim = export->shape.dim,
        .measured = export->facts.measured,
        .privacy = export->facts.privacy,
    };
    if (stat(export->options->out, &info) == 0) out->bytes = (uint64_t)info.st_size;
    nvdp__statement(&export->facts, sizeof out->statement, out->statement);
}

static nvdp_status run_export(struct nvdp__export *export) {
    NVDP_RETURN_IF_FAILED(open_run(export));
    NVDP_RETURN_IF_FAILED(nvdp__export_load(export));
    NVDP_RETURN_IF_FAILED(nvdp__export_plan(export));
    NVDP_RETURN_IF_FAILED(nvdp__export_measure(export));
    collect_facts(export);
    NVDP_RETURN_IF_FAILED(nvdp__export_allocate(export));
    NVDP_RETURN_IF_FAILED(prepare_noise(export));
    NVDP_RETURN_IF_FAILED(nvdp__embeddings_create(export->ctx, export->options->out, &export->shape,
                                                  export->offset, &export->writer));
    NVDP_RETURN_IF_FAILED(nvdp__release_attributes(export->writer.file, &export->facts));
    NVDP_RETURN_IF_FAILED(nvdp__export_columns(export));
    NVDP_RETURN_IF_FAILED(nvdp__export_release(export));
    if (export->options->model_out != NULL)
        NVDP_RETURN_IF_FAILED(
            nvdp__public_model_write(export->run.model, export->options->model_out));
    return nvdp__embeddings_commit(&export->writer);
}

nvdp_status nvdp_export(struct nvdp_context *ctx, const struct nvdp_export_config *config,
                        struct nvdp_export_result *out) {
    NVDP_RETURN_IF_FAILED(check_options(ctx, config));
    struct nvdp__export export = {.ctx = ctx, .options = config};
    nvdp_status status = run_export(&export);
    if (status == NVDP_OK && out != NULL) report(&export, out);
    nvdp__release_key_wipe(&export.key);
    nvdp__embeddings_abort(&export.writer);
    nvdp__batch_free(export.batch);
    nvdp_posteriors_free(export.posteriors);
    free(export.wide);
    free(export.log_weights);
    free(export.z);
    free(export.log_pi);
    free(export.first_row);
    free(export.offset);
    for (size_t i = 0; i < NVDP__EXPORT_PARTS; i++) {
        nvdp_dataset_free(export.part[i].data);
    }
    nvdp__run_close(&export.run);
    return status;
}
