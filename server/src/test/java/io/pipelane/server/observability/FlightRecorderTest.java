package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.TestDevices;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.PipelaneServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What Flight Recorder is told of requests and switches. */
@Timeout(60)
class FlightRecorderTest {
  /** Enough that a GPU, which replays what it has captured, has measured one of them. */
  private static final int REQUESTS = 50;

  @TempDir private Path folder = Path.of("");

  @Test
  void begun_whileNobodyRecords_isNone() {
    assertNull(InferenceEvent.begun());
  }

  @Test
  void recording_hasEveryRequestAndSwitch() throws Exception {
    TestModels.write(
        TestModels.chain(2, 32, 7), folder.resolve("repository/recorded/1/model.onnx"));
    PipelaneConfig config =
        PipelaneConfig.of(
            TestDevices.settings(
                Map.of(
                    "repository.path", folder.resolve("repository").toString(),
                    "repository.cache", folder.resolve("cache").toString(),
                    "device.memory", "8MiB",
                    "residency.prefetch", "false",
                    "server.http-port", "0")));
    List<RecordedEvent> inferences = new CopyOnWriteArrayList<>();
    List<RecordedEvent> switches = new CopyOnWriteArrayList<>();
    try (PipelaneServer server = PipelaneServer.start(config);
        HttpClient client = HttpClient.newHttpClient();
        RecordingStream recording = new RecordingStream()) {
      server.imports().join();
      recording.enable(InferenceEvent.NAME);
      recording.enable("pipelane.Switch");
      recording.onEvent(InferenceEvent.NAME, event -> keep(event, inferences));
      recording.onEvent("pipelane.Switch", event -> keep(event, switches));
      recording.setReuse(false);
      recording.startAsync();
      for (int i = 0; i < REQUESTS; i++) {
        assertEquals(200, ask(client, server.url()));
      }
      recording.stop();
    }
    assertEquals(REQUESTS, inferences.size());
    RecordedEvent first = inferences.getFirst();
    assertEquals("OK", first.getString("outcome"));
    assertTrue(first.getDuration().compareTo(first.getDuration("execute")) >= 0);
    // A device may tell segments' times only of runs that have not waited for weights.
    RecordedEvent measured =
        inferences.stream().filter(event -> event.getInt("segments") > 0).findFirst().orElseThrow();
    assertTrue(measured.getDuration("longestSegment").isPositive());
    assertEquals(1, switches.size(), "all but the first find the weights there");
    assertTrue(switches.getFirst().getLong("moved") > 0);
    assertEquals(0, switches.getFirst().getLong("resident"));
  }

  /** A recording is of the whole process, in which other tests' servers may be at work still. */
  private static void keep(RecordedEvent event, List<RecordedEvent> events) {
    if (event.getString("model").equals("recorded")) {
      events.add(event);
    }
  }

  private static int ask(HttpClient client, String url) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + "/v2/models/recorded/infer"))
            .header("Inference-Header-Content-Length", "0")
            .POST(BodyPublishers.ofByteArray(new byte[32 * Float.BYTES]))
            .build();
    return client.send(request, BodyHandlers.ofByteArray()).statusCode();
  }
}
