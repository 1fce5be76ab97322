package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.Switcher;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers that start where nothing was measured, and how their transfers are cut after a while. */
@Timeout(120)
class MeasuredGroupingTest {
  private static final int WIDTH = 128;
  private static final int ROWS = 256;
  private static final ModelVersion CHAIN = new ModelVersion("chain", 1);

  @TempDir Path folder;

  private final Patience patience = Patience.begin();

  private PipelaneServer start(int layers, Map<String, String> more) throws IOException {
    TestModels.write(
        TestModels.chain(layers, WIDTH, 1), folder.resolve("models/chain/1/model.onnx"));
    Map<String, String> settings = new HashMap<>(more);
    settings.put("repository.path", folder.resolve("models").toString());
    settings.put("repository.cache", folder.resolve("cache").toString());
    settings.put("device.kind", "cpu");
    settings.put("device.memory", "16MiB");
    settings.put("residency.prefetch", "false"); // What is copied is copied for runs.
    settings.put("server.http-port", "0");
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings));
    server.imports().join();
    return server;
  }

  /** Runs the model with nothing of it on the device, and counts what its weights came in. */
  private static long groupsOfColdRun(PipelaneServer server, HttpClient client) throws Exception {
    Switcher switcher = server.switcher();
    switcher.evict(CHAIN);
    long before = switcher.transfers().copies();
    List<Double> x = Collections.nCopies(ROWS * WIDTH, 0.5);
    String body =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[%d,%d],\"data\":%s}]}"
            .formatted(ROWS, WIDTH, x);
    HttpResponse<String> answer =
        client.send(
            HttpRequest.newBuilder(URI.create(server.url() + "/v2/models/chain/infer"))
                .POST(BodyPublishers.ofString(body))
                .build(),
            BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer.body());
    return switcher.transfers().copies() - before;
  }

  private boolean isCalibrated() throws IOException {
    Path calibrations = folder.resolve("cache/calibration");
    if (!Files.isDirectory(calibrations)) {
      return false;
    }
    try (Stream<Path> files = Files.list(calibrations)) {
      return files.anyMatch(file -> file.toString().endsWith(".json"));
    }
  }

  /**
   * Segments compute much longer than a page of theirs is copied, and a wait costs more than a
   * copy: the best groups are fewer than the segments, which equal bytes would move one by one.
   */
  @ParameterizedTest
  @ValueSource(strings = {"thread", "process"})
  void server_onAnEmptyCache_measuresItsLinkAndGroupsByIt(String isolation) throws Exception {
    try (PipelaneServer server = start(40, Map.of("workers.isolation", isolation));
        HttpClient client = HttpClient.newHttpClient()) {
      long byBytes = groupsOfColdRun(server, client);
      assertTrue(byBytes >= 5, "equal bytes make " + byBytes + " groups");
      patience.awaitTrue("the link is measured", this::isCalibrated);
      patience.awaitTrue(
          "groups are chosen by it", () -> groupsOfColdRun(server, client) < byBytes);
      server.devices().verify();
    }
  }

  /** On a slow link each segment's weights come alone, though they are few for a copy. */
  @Test
  void server_whoseLinkIsSlowedDown_knowsItWithoutMeasuring() throws Exception {
    Map<String, String> slow = Map.of("link.bandwidth", "20MB/s", "import.min-segment", "64KiB");
    try (PipelaneServer server = start(4, slow);
        HttpClient client = HttpClient.newHttpClient()) {
      assertEquals(1, groupsOfColdRun(server, client), "nothing is known of the model");
      patience.awaitTrue("groups are chosen by it", () -> groupsOfColdRun(server, client) > 1);
      assertFalse(isCalibrated(), "there was nothing to measure");
    }
  }
}
