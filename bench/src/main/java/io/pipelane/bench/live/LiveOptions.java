package io.pipelane.bench.live;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.FolderOptions;
import io.pipelane.config.value.DeviceSelection;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options that say what runs live beside the simulation, and on which device. */
public final class LiveOptions {
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions(1);
  @Mixin private FolderOptions folder = new FolderOptions();

  @Option(
      names = "--model",
      split = ",",
      paramLabel = "NAME",
      description = {
        "Models that run live, or beginnings of the names of the demo's cases (${DEFAULT-VALUE})."
      })
  private List<String> names;

  @Option(names = "--simulated-only", description = "Leave out what is live.")
  private boolean simulatedOnly;

  @Option(names = "--live-only", description = "Leave out what is simulated.")
  private boolean liveOnly;

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description = "The server's configuration, on top of the benchmark's; may be repeated.")
  private Map<String, String> settings = Map.of();

  /**
   * Options of a program.
   *
   * @param names of the models, unless told otherwise
   */
  public LiveOptions(String... names) {
    this.names = List.of(names);
  }

  /**
   * Whether models run live.
   *
   * @throws IllegalArgumentException when neither they nor a simulation should
   */
  public boolean isLive() {
    if (simulatedOnly && liveOnly) {
      throw new IllegalArgumentException("--simulated-only and --live-only leave nothing");
    }
    return !simulatedOnly;
  }

  /** Whether the simulation runs. */
  public boolean isSimulated() {
    return !liveOnly;
  }

  /** What the device is, for people. */
  public String kind() {
    return isOnGpu() ? "GPU" : "CPU";
  }

  /** What the names of live rows begin with. */
  public String label() {
    return isOnGpu() ? "live, " + kind() : "live";
  }

  /** The models; their files are there. */
  public List<AskedModel> models(Path work) throws IOException {
    AskedModels known = folder.models(work, accelerated);
    List<AskedModel> models = new ArrayList<>();
    for (String name : names) {
      models.add(known.find(name));
    }
    return models;
  }

  /**
   * Servers for copies of models, of which there is none yet.
   *
   * @param name of their repository
   * @param memory of the device, for weights
   */
  public LiveServers servers(Path work, String name, String memory) throws IOException {
    return LiveServers.of(work, name, memory, serverSettings(work));
  }

  /** The device as it was named. */
  public String device() {
    return accelerated.device().toString();
  }

  /** Whether the device is a GPU. */
  public boolean isOnGpu() {
    return !(accelerated.device() instanceof DeviceSelection.Cpu);
  }

  /**
   * The device in a server's configuration, and what else was told of it.
   *
   * @param work where ONNX Runtime is unpacked
   */
  public Map<String, String> serverSettings(Path work) {
    Map<String, String> all = new HashMap<>(accelerated.serverSettings(work));
    all.putAll(settings);
    return all;
  }
}
