package io.pipelane.bench.sharing;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** The start of servers whose device online and offline work share. */
public final class SharedServer {
  private SharedServer() {}

  /**
   * Starts one of a lane, with gates.
   *
   * @param models the folder of models
   * @param work where derived files go
   */
  public static LocalPipelane startWithGates(AcceleratorOptions accelerated, Path models, Path work)
      throws IOException, InterruptedException {
    return start(accelerated, models, work, new Scene(Way.GATES, 100), 1, Map.of());
  }

  /**
   * Starts one for a scene.
   *
   * @param lanes inferences at a time, where the way has no more
   * @param settings on top of these
   */
  static LocalPipelane start(
      AcceleratorOptions accelerated,
      Path models,
      Path work,
      Scene scene,
      int lanes,
      Map<String, String> settings)
      throws IOException, InterruptedException {
    Way way = scene.way();
    Map<String, String> values = new HashMap<>(accelerated.serverSettings(work));
    values.put("device.lanes", Integer.toString(way.lanes(lanes)));
    values.put("queue.max-requests", "1000000");
    values.put("sharing.protection", way.protection());
    values.put("sharing.multiprocessors", way.multiprocessors());
    values.put("sharing.multiprocessors-percent", Integer.toString(scene.percent()));
    values.put("sharing.offline-memory-percent", "100");
    values.putAll(settings);
    return LocalPipelane.start(models, work, values);
  }
}
