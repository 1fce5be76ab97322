package io.pipelane.server.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.TextFormat;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.http.FakeCatalog;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class ModelConfigsTest {
  private static final ServedModel ECHO = FakeCatalog.usual().resolve("echo", "");

  private static JsonNode written(ModelConfig config) throws Exception {
    ByteBuf target = Unpooled.buffer();
    ModelConfigs.write(target, config);
    return new ObjectMapper().readTree(target.toString(StandardCharsets.UTF_8));
  }

  private static TritonConfig declared(String text) throws TextFormat.ParseException {
    return new TritonConfig(true, TextFormat.parse(text, ModelConfig.class), List.of());
  }

  @Test
  void modelWithoutConfiguration_isDescribedByItself() throws Exception {
    JsonNode config = written(ModelConfigs.of(ECHO, TritonConfig.NONE));
    assertEquals("echo", config.path("name").asText());
    assertEquals("onnxruntime_onnx", config.path("platform").asText());
    assertEquals("onnxruntime", config.path("backend").asText());
    assertEquals("model.onnx", config.path("default_model_filename").asText());
    assertTrue(config.path("version_policy").has("all"));
    assertEquals(0, config.path("max_batch_size").asInt(-1));
    assertEquals("TYPE_FP32", config.path("input").get(0).path("data_type").asText());
    assertEquals("[-1,4]", config.path("input").get(0).path("dims").toString());
    assertEquals("y_x", config.path("output").get(0).path("name").asText());
  }

  @Test
  void configuration_isAnsweredAsItIsWritten() throws Exception {
    TritonConfig declared =
        declared(
            "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4, 8 ]"
                + " max_queue_delay_microseconds: 100 } instance_group { count: 2 kind: KIND_CPU }"
                + " parameters { key: \"a\" value { string_value: \"b\" } }");
    JsonNode config = written(ModelConfigs.of(ECHO, declared));
    assertEquals("[4]", config.path("input").get(0).path("dims").toString());
    assertEquals("[4,8]", config.at("/dynamic_batching/preferred_batch_size").toString());
    assertTrue(config.at("/dynamic_batching/max_queue_delay_microseconds").isNumber());
    assertEquals("KIND_CPU", config.at("/instance_group/0/kind").asText());
    assertEquals("b", config.at("/parameters/a/string_value").asText());
    assertTrue(config.path("sequence_batching").isMissingNode());
    assertTrue(config.path("version_policy").isMissingNode(), "the latest, by its default");
  }
}
