package io.pipelane.bench.live;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.config.section.SchedulingConfig.Policy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Pipelane in this process for copies of models, in a repository of their own, under one policy
 * after another. Used by one thread.
 */
public final class LiveServers {
  private static final int MOST_IMPORTS = 8;

  private final Path work;
  private final Path repository;
  private final Map<String, String> settings;
  private final Map<String, String> description = new TreeMap<>();
  private String runtimeVersion = "";

  private LiveServers(Path work, Path repository, Map<String, String> settings) {
    this.work = work;
    this.repository = repository;
    this.settings = settings;
  }

  /** Servers of a repository that is empty. */
  static LiveServers of(Path work, String name, String memory, Map<String, String> device)
      throws IOException {
    Path repository = work.resolve(name);
    if (Files.exists(repository)) { // What is left of an earlier run would be served, too.
      try (Stream<Path> files = Files.walk(repository)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
    int imports = Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 1, MOST_IMPORTS);
    Map<String, String> settings = new HashMap<>(device);
    settings.put("device.memory", memory);
    settings.put("import.concurrency", Integer.toString(imports));
    settings.put("workers.isolation", "thread");
    settings.put("queue.max-requests", "1000000");
    settings.put("queue.max-bytes", "256GiB"); // As if each request had an input of its own.
    return new LiveServers(work, repository, settings);
  }

  /** Adds copies of a model, which share one file and so one import; their names. */
  public List<String> add(AskedModel model, int copies) throws IOException {
    return ModelCopies.write(repository, model.file(), model.model(), copies);
  }

  /**
   * Starts one that has all models ready.
   *
   * @param further settings by key
   */
  public LocalPipelane start(Policy policy, int lanes, Map<String, String> further)
      throws IOException, InterruptedException {
    return started(LocalPipelane.start(repository, work, configuration(policy, lanes, further)));
  }

  /** Starts one that may have refused models. */
  public LocalPipelane startWithReady(Policy policy, int lanes)
      throws IOException, InterruptedException {
    return started(
        LocalPipelane.startWithReady(repository, work, configuration(policy, lanes, Map.of())));
  }

  private Map<String, String> configuration(Policy policy, int lanes, Map<String, String> further) {
    Map<String, String> all = new HashMap<>(settings);
    all.put("scheduling.policy", policy.toString());
    all.put("device.lanes", Integer.toString(lanes));
    all.putAll(further);
    return all;
  }

  private LocalPipelane started(LocalPipelane server) {
    runtimeVersion = server.runtimeVersion();
    description.put("device", String.join(", ", server.devices().memory().keySet()));
    return server;
  }

  /** ONNX Runtime's version, once a server was started. */
  public String runtimeVersion() {
    return runtimeVersion;
  }

  /** What is to be known of the device, by name. */
  public Map<String, String> description() {
    return Map.copyOf(description);
  }
}
