package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs whose model keeps state, and has another content before they have ended. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobsOfReplacedContentsTest {
  private static final String MODEL = "sum";

  @TempDir private Path folder = Path.of("");
  private final JsonMapper json = JsonMapper.builder().build();
  private OwnedRepository owned;
  private PipelaneServer server;

  JobsOfReplacedContentsTest() {}

  @BeforeEach
  void start() throws Exception {
    owned = new OwnedRepository(folder);
    content(1);
    owned.text(MODEL + "/pipelane.yaml", "state: {t: s}\n");
    owned.text(
        "sums/pipelane.yaml",
        "ensemble:\n  steps:\n    - {model: sum, inputs: {x: x}, outputs: {y: y}}\n");
    Path jobs = Files.createDirectory(folder.resolve("jobs"));
    Files.writeString(jobs.resolve("in.jsonl"), OwnedRepository.REQUEST + "\n");
    String never = "1000000";
    server =
        owned.start(Map.of("jobs.folder", jobs.toString(), "jobs.checkpoint-iterations", never));
  }

  @AfterEach
  void close() {
    server.close();
    owned.close();
  }

  private void content(long seed) throws IOException {
    TestModels.write(
        TestModels.recurrent(OwnedRepository.WIDTH, seed), owned.path(MODEL + "/1/model.onnx"));
  }

  private JsonNode answer(HttpResponse<String> response) throws IOException {
    assertEquals(200, response.statusCode(), response.body());
    return json.readTree(response.body());
  }

  /** A job as it is once it has ended, as its model's content was replaced after it had begun. */
  private JsonNode endedByReplacement(String model) throws Exception {
    String request =
        "{\"model\":\"%s\",\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"repeat\":1000000}"
            .formatted(model);
    String id = answer(owned.post(server, "jobs", request)).path("id").asText();
    awaitSequences(1);
    content(2);
    assertEquals(200, owned.post(server, "repository/models/" + MODEL + "/load", "").statusCode());
    JsonNode job;
    do {
      job = answer(owned.get(server, "jobs/" + id));
    } while (!job.path("state").asText().equals("FAILED"));
    assertTrue(job.path("reason").asText().contains("has changed"), job.toString());
    return job;
  }

  private void awaitSequences(int count) {
    while (server.switcher().states().sequences() != count) {
      Thread.onSpinWait();
    }
  }

  /** The content before has the state for them, and nobody else would end it. */
  @Test
  void rowsThatWereAnswered_count_andTheStateIsGivenBack() throws Exception {
    JsonNode job = endedByReplacement(MODEL);
    Path rows = folder.resolve("jobs/o." + job.path("id").asText() + ".partial");
    long answered = job.path("items_done").asLong();
    assertTrue(answered > 0, job.toString());
    assertEquals(answered, Files.readAllLines(rows).size());
    awaitSequences(0);
  }

  @Test
  void stateOfAnEnsemblesJob_isGivenBack() throws Exception {
    JsonNode _ = endedByReplacement("sums");
    awaitSequences(0);
  }
}
