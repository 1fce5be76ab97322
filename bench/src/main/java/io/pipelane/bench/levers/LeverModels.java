package io.pipelane.bench.levers;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.model.ModelVersions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Some models, each under several names, in the order of their popularity: each model in turn. */
final class LeverModels {
  private final List<AskedModel> models;
  private final int copies;
  private final List<List<String>> names = new ArrayList<>();

  private LeverModels(List<AskedModel> models, int copies) {
    this.models = models;
    this.copies = copies;
  }

  /**
   * Writes the copies into a repository.
   *
   * @param differ whether each copy has last weights of its own
   */
  static LeverModels write(Path repository, List<AskedModel> models, int copies, boolean differ)
      throws IOException {
    LeverModels written = new LeverModels(models, copies);
    for (AskedModel model : models) {
      written.names.add(
          differ
              ? ModelVersions.write(repository, model.file(), model.model(), copies)
              : ModelCopies.write(repository, model.file(), model.model(), copies));
    }
    return written;
  }

  int count() {
    return models.size() * copies;
  }

  /** A caller of each, the most popular first. */
  List<OpenCaller> callers(LocalPipelane server) {
    List<OpenCaller> callers = new ArrayList<>();
    for (int copy = 0; copy < copies; copy++) {
      for (int model = 0; model < models.size(); model++) {
        callers.add(server.openCaller(models.get(model), names.get(model).get(copy)));
      }
    }
    return callers;
  }

  /** Their names, the most popular first. */
  List<String> names() {
    List<String> all = new ArrayList<>();
    for (int copy = 0; copy < copies; copy++) {
      for (List<String> ofModel : names) {
        all.add(ofModel.get(copy));
      }
    }
    return all;
  }
}
