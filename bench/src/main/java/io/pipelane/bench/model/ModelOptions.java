package io.pipelane.bench.model;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options that say which models are measured, one after another. */
public final class ModelOptions {
  private static final String ALL = "all";

  @Mixin private FolderOptions chosen = new FolderOptions();

  @Option(
      names = "--model",
      split = ",",
      paramLabel = "NAME",
      description = {
        "Models, or beginnings of the names of the demo's cases; all for every one of the demo and "
            + "the zoo (${DEFAULT-VALUE})."
      })
  private List<String> names =
      List.of(
          "minilm-l6-v2 16",
          "minilm-l6-v2 128",
          "minilm-l6-v2-q 16",
          "bge-small-en-q 128",
          "ppocr-v4-rec",
          "ppocr-v4-det",
          "ppocr-cls",
          "googlenet",
          "inception_v3",
          "resnet50",
          "alexnet",
          "densenet201",
          "superres",
          "vae",
          "speech",
          "seq2seq_small");

  /**
   * Where they are found.
   *
   * @param work where models are written that are not there yet
   */
  public AskedModels models(Path work, AcceleratorOptions requests) {
    return chosen.models(work, requests);
  }

  /** Their names. */
  public List<String> names(AskedModels models) throws IOException {
    return names.equals(List.of(ALL)) ? models.names() : names;
  }
}
