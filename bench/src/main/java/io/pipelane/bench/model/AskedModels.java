package io.pipelane.bench.model;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.accelerator.ModelCase;
import io.pipelane.loadgen.zoo.ZooModel;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Models found by name: in a folder, or of the zoo, or the demo's cases. Used by one thread. */
public final class AskedModels {
  private static final long SEED = 1;

  private final Path work;
  private final AcceleratorOptions requests;
  private final @Nullable Path folder;
  private @Nullable List<BenchCase> demo;

  /**
   * Finds models.
   *
   * @param work where models are written that are not there yet
   * @param requests how models of the folder and of the zoo are asked
   * @param folder where all of them lie; null for those of the zoo and of the demo
   */
  public AskedModels(Path work, AcceleratorOptions requests, @Nullable Path folder) {
    this.work = work;
    this.requests = requests;
    this.folder = folder == null ? null : folder.toAbsolutePath().normalize();
  }

  /**
   * The model of a name, the beginning of it for the demo's cases; its file is there.
   *
   * @throws IllegalArgumentException when there is none
   */
  public AskedModel find(String name) throws IOException {
    return find(name, requests.batch());
  }

  /**
   * The same, asked with requests of so many rows where it is none of the demo's cases.
   *
   * @throws IllegalArgumentException when there is none
   */
  public AskedModel find(String name, int rows) throws IOException {
    if (folder != null) {
      ModelCase modelCase = requests.modelCase(folder, name, rows);
      if (!Files.exists(modelCase.file())) {
        throw new IllegalArgumentException("there is no " + modelCase.file());
      }
      return AskedModel.of(modelCase);
    }
    Optional<ZooModel> zoo = ZooModel.find(name);
    return zoo.isPresent() ? of(zoo.get(), rows) : ofDemo(name);
  }

  /** Names of all models that {@link #find} knows without a folder, the zoo's behind the demo's. */
  public List<String> names() throws IOException {
    List<String> names = new ArrayList<>();
    cases().stream()
        .map(BenchCase::name)
        .filter(n -> !n.equals(NoopModel.NAME))
        .forEach(names::add);
    Arrays.stream(ZooModel.values()).map(ZooModel::label).forEach(names::add);
    return names;
  }

  private AskedModel of(ZooModel model, int rows) throws IOException {
    Path zoo = work.resolve("zoo");
    if (!Files.exists(model.file(zoo))) {
      model.write(zoo, SEED);
    }
    return AskedModel.of(requests.modelCase(zoo, model.label(), rows));
  }

  private AskedModel ofDemo(String name) throws IOException {
    for (BenchCase each : cases()) {
      if (each.name().startsWith(name)) {
        BenchCase.write(demoFolder(), List.of(each));
        return AskedModel.of(each);
      }
    }
    throw new IllegalArgumentException(
        "there is no model %s; there are %s".formatted(name, names()));
  }

  private List<BenchCase> cases() throws IOException {
    if (demo == null) {
      demo = BenchCase.all(demoFolder());
    }
    return demo;
  }

  private Path demoFolder() {
    return work.resolve("demo");
  }

  /**
   * A repository that holds some models and no others: the same files, copied where they cannot be
   * linked.
   */
  public Path repository(String name, List<AskedModel> models) throws IOException {
    Path repository = work.resolve(name);
    for (AskedModel model : models) {
      link(model.folder(), repository.resolve(model.model()));
    }
    return repository;
  }

  private static void link(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Path target = to.resolve(from.relativize(file));
        Files.createDirectories(target.getParent());
        try {
          ModelLinks.link(file, target);
        } catch (FileAlreadyExistsException e) {
          // It is there from an earlier run.
        }
      }
    }
  }
}
