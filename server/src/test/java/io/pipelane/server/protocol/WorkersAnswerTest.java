package io.pipelane.server.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.lanes.process.WorkersOverview.BuiltModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.state.SeenWorkers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WorkersAnswerTest {
  private static JsonNode answer(List<BuiltModel> models) throws IOException {
    return answer(models, _ -> true).path("workers").path(0);
  }

  private static JsonNode answer(List<BuiltModel> models, Predicate<String> visible)
      throws IOException {
    WorkersOverview.Entry worker =
        new WorkersOverview.Entry(
            7, 4711, WorkerState.STANDBY, models.size(), models, 3, 1 << 20, "cpu", 42, 7);
    ByteBuf target = Unpooled.buffer();
    WorkersOverview all = new WorkersOverview(List.of(worker), 5, 2, "killed", 1_000);
    Answers.workers(target, new SeenWorkers(all, visible));
    return new ObjectMapper().readTree(target.toString(StandardCharsets.UTF_8));
  }

  @Test
  void worker_listsTheModelsThatItHasBuilt() throws IOException {
    JsonNode worker = answer(List.of(new BuiltModel(new ModelVersion("m", 3), 2)));
    assertEquals(
        "{\"id\":7,\"pid\":4711,\"state\":\"STANDBY\",\"sessions\":1,\"models\":"
            + "[{\"name\":\"m\",\"version\":\"3\",\"sessions\":2}],\"more_models\":0,"
            + "\"warmed_up\":3,\"memory_bytes\":1048576,\"device\":\"cpu\",\"device_bytes\":42,\"framework_bytes\":7}",
        worker.toString());
  }

  @Test
  void worker_withVeryManyModels_listsSomeAndCountsTheOthers() throws IOException {
    JsonNode worker =
        answer(
            IntStream.range(0, Answers.MOST_MODELS + 5)
                .mapToObj(i -> new BuiltModel(new ModelVersion("m" + i, 1), 1))
                .toList());
    assertEquals(Answers.MOST_MODELS, worker.path("models").size());
    assertEquals(5, worker.path("more_models").asInt());
  }

  @Test
  void modelsThatAreNotVisible_areOnlyCounted() throws IOException {
    List<BuiltModel> models =
        List.of(
            new BuiltModel(new ModelVersion("mine", 1), 1),
            new BuiltModel(new ModelVersion("theirs", 1), 1));
    JsonNode answer = answer(models, name -> name.equals("mine"));
    JsonNode worker = answer.path("workers").path(0);
    assertEquals(
        "[{\"name\":\"mine\",\"version\":\"1\",\"sessions\":1}]", worker.path("models").toString());
    assertEquals(1, worker.path("more_models").asInt());
    assertEquals("", answer.path("last_loss").asText(), "it may name a model");
    assertEquals("killed", answer(models, _ -> true).path("last_loss").asText());
  }
}
