package io.pipelane.server.http;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.BatchingOptions;
import io.pipelane.modelstore.repository.BatchingOptions.Mode;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Limits;
import io.pipelane.modelstore.repository.ModelOptions.OwnTimes;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.modelstore.repository.StoredOptions;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.LoadOptions;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ServedModel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A catalogue of models whose outputs are their inputs, named {@code x -> y_x}. */
public final class FakeCatalog implements ModelCatalog {
  private final Map<String, ServedModel> models = new LinkedHashMap<>();
  public final List<String> calls = new ArrayList<>();
  public final CompletableFuture<Void> loading = new CompletableFuture<>();

  /** Models that are out of service for the time being. */
  public final Set<String> gone = ConcurrentHashMap.newKeySet();

  /** Models that are still being imported. */
  public final Set<String> importing = ConcurrentHashMap.newKeySet();

  /** Models that are not served though nobody imports them. */
  public final Set<String> quarantined = ConcurrentHashMap.newKeySet();

  /** Models that somebody waits for. */
  public final Set<String> wanted = ConcurrentHashMap.newKeySet();

  @Nullable RepositoryWriter writer;

  /** Reads and writes models' options. */
  Executor disk = ForkJoinPool.commonPool();

  private final Map<String, ServedModel> labelled = new ConcurrentHashMap<>();
  private volatile VersionChoice choice = VersionChoice.NONE;
  public volatile boolean ready = true;
  public boolean unloads;
  public volatile List<Entry> entries =
      List.of(
          new Entry("echo", "2", State.READY, ""),
          new Entry("broken", "1", State.UNAVAILABLE, "corrupt \"file\""));

  public static FakeCatalog usual() {
    FakeCatalog catalog = new FakeCatalog();
    catalog.add("echo", spec("x", TensorType.FP32, -1, 4));
    catalog.add("pair", spec("a", TensorType.INT64, -1), spec("b", TensorType.BYTES, -1));
    for (TensorType type : TensorType.values()) {
      catalog.add("echo_" + type, spec("x", type, -1));
    }
    catalog.add("scalar", spec("x", TensorType.FP32));
    catalog.add("cube", spec("x", TensorType.INT32, 2, -1, 2));
    Optional<ByteSize> size = Optional.of(new ByteSize(64));
    catalog.add(
        "limited",
        options(Priority.ONLINE, size, Optional.empty()),
        spec("x", TensorType.FP32, -1, 4));
    catalog.add(
        "background",
        options(Priority.OFFLINE, Optional.empty(), Optional.of(Duration.ofHours(1))),
        spec("x", TensorType.FP32, -1, 4));
    catalog.add(
        "sum", keeping(Map.of("t", new StateInput("s"))), spec("x", TensorType.FP32, -1, 4));
    ServedModel echo = catalog.resolve("echo", "");
    catalog.models.put(
        "sums", // As an ensemble whose models keep state.
        new ServedModel(
            new ModelVersion("sums", 2),
            echo.versions(),
            echo.inputs(),
            echo.outputs(),
            ModelOptions.DEFAULT,
            true,
            ""));
    return catalog;
  }

  private static ModelOptions keeping(Map<String, StateInput> state) {
    ModelOptions options = ModelOptions.DEFAULT;
    return new ModelOptions(
        options.buckets(),
        options.warmUp(),
        options.tenant(),
        options.priority(),
        options.limits(),
        options.batching(),
        state);
  }

  private static ModelOptions options(
      Priority priority, Optional<ByteSize> requestSize, Optional<Duration> timeout) {
    return new ModelOptions(
        List.of(),
        false,
        "",
        priority,
        new Limits(Optional.empty(), Optional.empty(), requestSize, timeout, Optional.empty()),
        BatchingOptions.DEFAULT);
  }

  /** Takes few rows, and leaves it to its owner how long requests may wait. */
  static ModelOptions bounded(int maxRows, Duration timeout, OwnTimes ownTimes) {
    return new ModelOptions(
        List.of(),
        false,
        "",
        Priority.ONLINE,
        new Limits(
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.of(timeout),
            Optional.empty(),
            ownTimes),
        new BatchingOptions(Mode.AUTO, List.of(), Duration.ZERO, false, Optional.of(maxRows)));
  }

  static TensorSpec spec(String name, TensorType type, long... shape) {
    return new TensorSpec(name, type, Shape.of(shape));
  }

  void add(String name, TensorSpec... inputs) {
    add(name, ModelOptions.DEFAULT, inputs);
  }

  void add(String name, ModelOptions options, TensorSpec... inputs) {
    List<TensorSpec> outputs =
        Arrays.stream(inputs)
            .map(input -> new TensorSpec("y_" + input.name(), input.type(), input.shape()))
            .toList();
    models.put(
        name,
        new ServedModel(
            new ModelVersion(name, 2), List.of(1L, 2L), List.of(inputs), outputs, options));
  }

  /** Has a model have a content that can be told from others. */
  public void hasContent(String name, String content) {
    models.computeIfPresent(name, (_, model) -> model.ofContent(content));
  }

  /** Has version 2 of a model leave, so that version 1 answers. */
  public void leave(String name) {
    ServedModel model = resolve(name, "");
    models.put(
        name,
        new ServedModel(
            new ModelVersion(name, 1),
            List.of(1L),
            model.inputs(),
            model.outputs(),
            ModelOptions.DEFAULT));
  }

  /** Has a label stand for a version of a model. */
  public void label(String name, String label, long version) {
    ServedModel model = resolve(name, "");
    labelled.put(
        name + "/" + label,
        new ServedModel(
            new ModelVersion(name, version),
            model.versions(),
            model.inputs(),
            model.outputs(),
            model.options()));
  }

  @Override
  public boolean isReady() {
    return ready;
  }

  @Override
  public List<Entry> index() {
    return entries;
  }

  @Override
  public ServedModel resolve(String name, String version) {
    if (name.equals("importing") || importing.contains(name)) {
      throw StatusException.unavailable(
          "model " + name + " is being imported", Duration.ofMillis(1500));
    }
    if (quarantined.contains(name)) {
      throw StatusException.unavailable("model " + name + " is in quarantine", Duration.ofDays(1));
    }
    if (name.equals("faulty")) {
      throw new IllegalStateException("a bug");
    }
    ServedModel model = models.get(name);
    if (model == null || gone.contains(name)) {
      throw new StatusException(Status.NOT_FOUND, "model \"" + name + "\" is unknown");
    }
    ServedModel chosen = labelled.get(name + "/" + version);
    if (chosen != null) {
      return chosen;
    }
    if (!version.isEmpty() && !version.equals("1") && !version.equals("2")) {
      throw new StatusException(Status.NOT_FOUND, "version " + version + " is unknown");
    }
    return model;
  }

  @Override
  public boolean isImporting(String name, String version) {
    return importing.contains(name);
  }

  @Override
  public void want(String name, String version, Priority by) {
    wanted.add(name);
  }

  /** Has versions be put into a repository. */
  public void takeUploads(RepositoryWriter into) {
    writer = into;
  }

  @Override
  public ByteSize uploadLimit() {
    return writer == null ? ModelCatalog.super.uploadLimit() : writer.limit();
  }

  @Override
  public IncomingVersion receive(String name, String version, IncomingVersion.Form form) {
    return writer == null
        ? ModelCatalog.super.receive(name, version, form)
        : writer.receive(new ModelVersion(name, Long.parseLong(version)), form);
  }

  @Override
  public CompletableFuture<Void> delete(String name, String version) {
    RepositoryWriter from = writer;
    if (from == null) {
      return ModelCatalog.super.delete(name, version);
    }
    ModelVersion deleted = new ModelVersion(name, Long.parseLong(version));
    return CompletableFuture.runAsync(() -> from.delete(deleted, () -> {}), disk);
  }

  @Override
  public CompletableFuture<byte[]> options(String name) {
    return writer == null
        ? ModelCatalog.super.options(name)
        : CompletableFuture.supplyAsync(writer.options(name)::read, disk);
  }

  @Override
  public CompletableFuture<Void> changeOptions(
      String name, byte[] yaml, Consumer<String> permission) {
    if (writer == null) {
      return ModelCatalog.super.changeOptions(name, yaml, permission);
    }
    StoredOptions stored = writer.options(name);
    return CompletableFuture.runAsync(() -> stored.write(yaml, permission), disk);
  }

  @Override
  public CompletableFuture<Void> load(String name, LoadOptions options) {
    calls.add(
        "load "
            + name
            + options.within().map(soon -> " within " + soon).orElse("")
            + options.config().map(config -> " as " + config).orElse("")
            + options.files().entrySet().stream()
                .map(file -> " with " + file.getKey() + " " + file.getValue().length)
                .sorted()
                .collect(Collectors.joining()));
    return loading;
  }

  @Override
  public VersionChoice choice(String name) {
    ServedModel _ = resolve(name, "");
    return choice;
  }

  @Override
  public CompletableFuture<Void> choose(String name, UnaryOperator<VersionChoice> change) {
    choice = change.apply(choice);
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletableFuture<Void> unload(String name) {
    calls.add("unload " + name);
    return unloads
        ? CompletableFuture.completedFuture(null)
        : CompletableFuture.failedFuture(
            new StatusException(Status.NOT_FOUND, "model \"" + name + "\" is unknown"));
  }
}
