package io.pipelane.loadgen.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.loadgen.request.InputSettings.Format;
import io.pipelane.loadgen.request.InputSettings.Values;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.protocol.grpc.ModelInferRequest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RequestGeneratorTest {
  private static final ModelMetadata ENCODER =
      new ModelMetadata(
          "encoder",
          List.of(
              new TensorMetadata("input_ids", "INT64", List.of(-1L, -1L)),
              new TensorMetadata("attention_mask", "INT64", List.of(-1L, -1L)),
              new TensorMetadata("token_type_ids", "INT64", List.of(-1L, -1L)),
              new TensorMetadata("bias", "FP32", List.of(-1L))),
          List.of());
  private static final ModelMetadata TEXTS =
      new ModelMetadata("texts", List.of(new TensorMetadata("t", "BYTES", List.of(3L))), List.of());
  private static final Map<String, List<Long>> SHAPES =
      Map.of(
          "input_ids", List.of(1L, 3L),
          "attention_mask", List.of(1L, 3L),
          "encoder/token_type_ids", List.of(1L, 3L));

  @Test
  void generate_versionThatIsNamed_isAsked() throws Exception {
    ModelMetadata second = new ModelMetadata("m", "2", ENCODER.inputs(), List.of());
    InputSettings http = random(1);
    InputSettings grpc = new InputSettings(Values.ZERO, null, Format.GRPC, Map.of(), 0, 0, 9, 1);

    assertEquals(
        "/v2/models/m/versions/2/infer", new RequestGenerator(http).generate(second).path());
    PreparedRequest message = new RequestGenerator(grpc).generate(second).variants().getFirst();
    assertEquals("2", ModelInferRequest.parseFrom(message.body()).getModelVersion());
  }

  @Test
  void generate_binary_headerAndBytesInOrder() throws Exception {
    PreparedRequest request = generate(settings(Values.RANDOM, Format.BINARY), ENCODER);

    int jsonBytes =
        Integer.parseInt(
            request.headers().getOrDefault(PreparedRequest.INFERENCE_HEADER_CONTENT_LENGTH, ""));
    byte[] body = bytes(request);
    JsonNode json = new ObjectMapper().readTree(Arrays.copyOf(body, jsonBytes));
    assertTrue(json.at("/parameters/binary_data_output").asBoolean());
    assertEquals("[1,3]", json.at("/inputs/2/shape").toString());
    assertEquals("[1]", json.at("/inputs/3/shape").toString());
    assertEquals(24, json.at("/inputs/0/parameters/binary_data_size").asInt());
    ByteBuffer tensors =
        ByteBuffer.wrap(body, jsonBytes, body.length - jsonBytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 3; i++) {
      long id = tensors.getLong();
      assertTrue(id >= 10 && id <= 19, "seed 5 gave " + id);
    }
    for (int i = 0; i < 3; i++) {
      assertEquals(1, tensors.getLong());
    }
    for (int i = 0; i < 3; i++) {
      assertEquals(0, tensors.getLong());
    }
    assertEquals(4, tensors.remaining());
  }

  @Test
  void generate_parameters_travelInEveryForm() throws Exception {
    List<RequestParameter> parameters =
        List.of(
            new RequestParameter("n", RequestParameter.Type.INT, "-7"),
            new RequestParameter("on", RequestParameter.Type.BOOL, "true"),
            new RequestParameter("who", RequestParameter.Type.STRING, "a:b"));
    for (Format format : List.of(Format.BINARY, Format.JSON)) {
      PreparedRequest request = generate(strings(format, Strings.USUAL, parameters), TEXTS);
      String body = new String(bytes(request), StandardCharsets.ISO_8859_1);
      assertTrue(
          body.startsWith(
              "{\"parameters\":{\"binary_data_output\":true,\"n\":-7,\"on\":true,\"who\":\"a:b\"}"),
          body);
    }
    ModelInferRequest message =
        ModelInferRequest.parseFrom(
            generate(strings(Format.GRPC, Strings.USUAL, parameters), TEXTS).body());
    assertEquals(-7, message.getParametersOrThrow("n").getInt64Param());
    assertTrue(message.getParametersOrThrow("on").getBoolParam());
    assertEquals("a:b", message.getParametersOrThrow("who").getStringParam());
  }

  @Test
  void generate_strings_lengthOrText() throws Exception {
    JsonNode random =
        new ObjectMapper()
            .readTree(
                bytes(generate(strings(Format.JSON, new Strings(5, null), List.of()), TEXTS)));
    assertTrue(random.at("/inputs/0/data/2").asText().matches("[a-z]{5}"), random::toString);
    JsonNode given =
        new ObjectMapper()
            .readTree(
                bytes(generate(strings(Format.JSON, new Strings(5, "größer"), List.of()), TEXTS)));
    assertEquals("[\"größer\",\"größer\",\"größer\"]", given.at("/inputs/0/data").toString());
  }

  private static InputSettings strings(
      Format format, Strings strings, List<RequestParameter> parameters) {
    return new InputSettings(
        Values.RANDOM, null, format, Map.of(), 0, 0, 9, strings, true, parameters, 1);
  }

  @Test
  void generate_sameSeed_sameBytes() {
    InputSettings settings = settings(Values.RANDOM, Format.BINARY);

    assertEquals(generate(settings, ENCODER), generate(settings, ENCODER));
  }

  @Test
  void generate_json_sameValuesAsBinary() throws Exception {
    PreparedRequest binary = generate(settings(Values.RANDOM, Format.BINARY), ENCODER);
    byte[] body = bytes(binary);
    ByteBuffer end = ByteBuffer.wrap(body, body.length - 4, 4).order(ByteOrder.LITTLE_ENDIAN);

    JsonNode json =
        new ObjectMapper().readTree(bytes(generate(settings(Values.RANDOM, Format.JSON), ENCODER)));

    assertEquals("[1,1,1]", json.at("/inputs/1/data").toString());
    assertEquals(end.getFloat(), json.at("/inputs/3/data/0").floatValue());
  }

  @ParameterizedTest
  @EnumSource(Datatype.class)
  void generate_zeroOfAnyType_jsonHasTheRightKindOfElements(Datatype type) throws Exception {
    ModelMetadata model =
        new ModelMetadata(
            "m", List.of(new TensorMetadata("x", type.name(), List.of(2L, -1L))), List.of());

    JsonNode json =
        new ObjectMapper().readTree(bytes(generate(settings(Values.ZERO, Format.JSON), model)));

    String expected =
        switch (type) {
          case BOOL -> "[false,false]";
          case BYTES -> "[\"\",\"\"]";
          case FP16, BF16, FP32, FP64 -> "[0.0,0.0]";
          case UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64 -> "[0,0]";
        };
    assertEquals(expected, json.at("/inputs/0/data").toString());
  }

  @ParameterizedTest
  @EnumSource(Datatype.class)
  void generate_randomOfAnyType_binarySizeIsThatOfTheTensor(Datatype type) throws Exception {
    ModelMetadata model =
        new ModelMetadata(
            "m", List.of(new TensorMetadata("x", type.name(), List.of(5L))), List.of());
    PreparedRequest request = generate(random(5), model);
    int jsonBytes =
        Integer.parseInt(
            request.headers().getOrDefault(PreparedRequest.INFERENCE_HEADER_CONTENT_LENGTH, ""));
    byte[] body = bytes(request);

    JsonNode json = new ObjectMapper().readTree(Arrays.copyOf(body, jsonBytes));

    assertEquals(body.length - jsonBytes, json.at("/inputs/0/parameters/binary_data_size").asInt());
    assertEquals(5 * (type == Datatype.BYTES ? 4 + 128 : type.width()), body.length - jsonBytes);
  }

  private static InputSettings random(long seed) {
    return new InputSettings(Values.RANDOM, null, Format.BINARY, Map.of(), 0, 0, 99, seed);
  }

  private static InputSettings settings(Values values, Format format) {
    return new InputSettings(values, null, format, SHAPES, 0, 10, 19, 5);
  }

  private static PreparedRequest generate(InputSettings settings, ModelMetadata model) {
    ModelRequests requests = new RequestGenerator(settings).generate(model);
    assertEquals("/v2/models/" + model.name() + "/infer", requests.path());
    return requests.variants().getFirst();
  }

  private static byte[] bytes(PreparedRequest request) {
    byte[] bytes = new byte[request.body().remaining()];
    request.body().get(bytes);
    return bytes;
  }
}
