package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.runtime.TensorType;
import io.pipelane.server.net.CodecThreads;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class InferTest {
  private static Reply send(byte[] request) {
    try (Conversation conversation = Conversation.usual()) {
      return conversation.send(request).onlyReply();
    }
  }

  private static byte[] little(int bytes, java.util.function.Consumer<ByteBuffer> writer) {
    ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    writer.accept(buffer);
    return buffer.array();
  }

  /** Type, number of elements, as JSON, as bytes: each the exact image of the other. */
  static Stream<Arguments> extremes() {
    return Stream.of(
        Arguments.of(TensorType.BOOL, 2, "true,false", new byte[] {1, 0}),
        Arguments.of(TensorType.UINT8, 2, "0,255", new byte[] {0, -1}),
        Arguments.of(TensorType.INT8, 2, "-128,127", new byte[] {-128, 127}),
        Arguments.of(TensorType.UINT16, 2, "0,65535", new byte[] {0, 0, -1, -1}),
        Arguments.of(TensorType.INT16, 2, "-32768,32767", new byte[] {0, -128, -1, 127}),
        Arguments.of(TensorType.UINT32, 2, "0,4294967295", little(8, b -> b.putInt(0).putInt(-1))),
        Arguments.of(
            TensorType.INT32,
            2,
            "-2147483648,2147483647",
            little(8, b -> b.putInt(Integer.MIN_VALUE).putInt(Integer.MAX_VALUE))),
        Arguments.of(
            TensorType.INT64,
            3,
            "9007199254740993,-9223372036854775808,9223372036854775807",
            Requests.longs(9007199254740993L, Long.MIN_VALUE, Long.MAX_VALUE)),
        Arguments.of(
            TensorType.UINT64,
            3,
            "9007199254740993,9223372036854775808,18446744073709551615",
            Requests.longs(9007199254740993L, Long.MIN_VALUE, -1)),
        Arguments.of(
            TensorType.FP16,
            3,
            "65504.0,-5.9604645E-8,0.099975586",
            little(
                6,
                b -> b.putShort((short) 0x7BFF).putShort((short) 0x8001).putShort((short) 0x2E66))),
        Arguments.of(
            TensorType.FP32,
            4,
            "3.4028235E38,1.4E-45,-0.0,0.1",
            Requests.floats(Float.MAX_VALUE, Float.MIN_VALUE, -0f, 0.1f)),
        Arguments.of(
            TensorType.FP64,
            3,
            "1.7976931348623157E308,4.9E-324,0.1",
            little(
                24, b -> b.putDouble(Double.MAX_VALUE).putDouble(Double.MIN_VALUE).putDouble(0.1))),
        Arguments.of(
            TensorType.BYTES,
            3,
            "\"\",\"\u00e9\ud83d\ude00\",\"a\\\"\\n\"",
            Requests.strings("", "\u00e9\ud83d\ude00", "a\"\n")));
  }

  @ParameterizedTest
  @MethodSource("extremes")
  void everyType_inBothForms_isExact(TensorType type, int count, String json, byte[] binary) {
    String head =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"%s\",\"shape\":[%d],".formatted(type, count);
    String inJson = head + "\"data\":[" + json + "]}]";
    String inBinary = head + "\"parameters\":{\"binary_data_size\":" + binary.length + "}}]";
    String wishBinary = ",\"parameters\":{\"binary_data_output\":true}}";
    String model = "echo_" + type;

    assertArrayEquals(binary, send(Requests.infer(model, inJson + wishBinary)).binary());
    Reply toJson = send(Requests.inferBinary(model, inBinary + "}", binary));
    assertTrue(toJson.text().contains("\"data\":[" + json + "]"), toJson.text());
    Reply toBinary = send(Requests.inferBinary(model, inBinary + wishBinary, binary));
    assertArrayEquals(binary, toBinary.binary());
    assertEquals("application/octet-stream", toBinary.header("content-type"));
    assertTrue(
        toBinary.json().contains("\"parameters\":{\"binary_data_size\":" + binary.length + "}"));
  }

  @Test
  void bf16_isBinaryOnly() {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"BF16\",\"shape\":[1],"
            + "\"parameters\":{\"binary_data_size\":2}}]%s}";
    byte[] data = {1, 2};
    String wish = ",\"outputs\":[{\"name\":\"y_x\",\"parameters\":{\"binary_data\":true}}]";
    assertArrayEquals(
        data, send(Requests.inferBinary("echo_BF16", json.formatted(wish), data)).binary());
    assertEquals(400, send(Requests.inferBinary("echo_BF16", json.formatted(""), data)).status());
  }

  @Test
  void notANumber_inJsonAnswer_isNull() {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[3],"
            + "\"parameters\":{\"binary_data_size\":12}}]}";
    byte[] data = Requests.floats(Float.NaN, Float.NEGATIVE_INFINITY, 1);
    Reply reply = send(Requests.inferBinary("echo_FP32", json, data));
    assertTrue(reply.text().contains("\"data\":[null,null,1.0]"), reply.text());
  }

  @Test
  void bytesThatAreNotUtf8_haveNoJsonForm() {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"BYTES\",\"shape\":[1],"
            + "\"parameters\":{\"binary_data_size\":5}}]}";
    Reply reply = send(Requests.inferBinary("echo_BYTES", json, new byte[] {1, 0, 0, 0, -1}));
    assertEquals(400, reply.status());
    assertTrue(reply.text().contains("not UTF-8"), reply.text());
  }

  @Test
  void members_inAnyOrderAndUnknownOnes_areAccepted() {
    String json =
        "{\"model_name\":\"e\",\"outputs\":[],\"parameters\":{\"binary_data_output\":false,"
            + "\"mine\":1.5},\"inputs\":[{\"data\":[[1,2,3,4],[5,6,7,8]],\"extra\":{\"a\":[]},"
            + "\"shape\":[2,4],\"datatype\":\"FP32\",\"name\":\"x\"}],\"id\":\"7\"}";
    assertEquals(
        "{\"model_name\":\"echo\",\"model_version\":\"2\",\"id\":\"7\",\"outputs\":[{\"name\":\"y_x\","
            + "\"datatype\":\"FP32\",\"shape\":[2,4],\"data\":[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]}]}",
        send(Requests.infer("echo/versions/2", json)).text());
  }

  @Test
  void nullMembers_countAsAbsent() {
    String json =
        "{\"id\":null,\"parameters\":null,\"outputs\":null,\"inputs\":[{\"name\":\"x\","
            + "\"shape\":[],\"datatype\":\"FP32\",\"parameters\":null,\"data\":[5]}]}";
    Reply reply = send(Requests.infer("scalar", json));
    assertTrue(reply.text().endsWith("\"shape\":[],\"data\":[5.0]}]}"), reply.text());
  }

  @Test
  void emptyTensors_areTensors() {
    String cube = "{\"inputs\":[{\"name\":\"x\",\"shape\":[2,0,2],\"datatype\":\"INT32\",%s}]%s}";
    for (String data : new String[] {"\"data\":[]", "\"data\":[[],[]]"}) {
      Reply reply = send(Requests.infer("cube", cube.formatted(data, "")));
      assertTrue(reply.text().contains("\"shape\":[2,0,2],\"data\":[]"), reply.text());
    }
    String binary = cube.formatted("\"parameters\":{\"binary_data_size\":0}", "");
    assertEquals(200, send(Requests.inferBinary("cube", binary, new byte[0])).status());
  }

  @Test
  void nestedData_mustMatchTheShape() {
    String cube =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[2,1,2],\"datatype\":\"INT32\",\"data\":%s}]}";
    assertEquals(200, send(Requests.infer("cube", cube.formatted("[[[1,2]],[[3,4]]]"))).status());
    for (String data :
        new String[] {
          "[[[1,2]]]",
          "[[[1,2]],[[3,4]],[[5,6]]]",
          "[[[1,2,3]],[[4]]]",
          "[[1,2],[3,4]]",
          "[[[1,2]],3]",
          "[1,2,[3,4]]",
          "[[[[1,2]]],[[3,4]]]",
          "{}",
          "7"
        }) {
      Reply reply = send(Requests.infer("cube", cube.formatted(data)));
      assertEquals(400, reply.status(), data);
      assertTrue(reply.text().contains("data"), reply.text());
    }
  }

  @Test
  void largeTensors_inJson_goTheLongWay() {
    int rows = 20_000;
    String data = "1.25,2,3,4,".repeat(rows);
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d,4],\"datatype\":\"FP32\",\"data\":[%s]}]}"
            .formatted(rows, data.substring(0, data.length() - 1));
    byte[] request = Requests.infer("echo", json);
    assertTrue(json.length() > CodecThreads.LARGEST_ON_LOOP / 2);
    try (Conversation conversation = Conversation.usual()) {
      for (int at = 0; at < request.length; at += 10_000) {
        conversation.send(request, at, Math.min(10_000, request.length - at));
      }
      Reply reply = conversation.onlyReply();
      assertEquals(200, reply.status());
      assertTrue(reply.text().endsWith("1.25,2.0,3.0,4.0]}]}"));
    }
  }

  @Test
  void largeBinaryTensor_arrivingInPieces_isPutTogether() {
    float[] values = new float[100_000];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    byte[] data = Requests.floats(values);
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[25000,4],\"datatype\":\"FP32\",\"parameters\":"
            + "{\"binary_data_size\":400000}}],\"parameters\":{\"binary_data_output\":true}}";
    byte[] request = Requests.inferBinary("echo", json, data);
    try (Conversation conversation = Conversation.usual()) {
      for (int at = 0; at < request.length; at += 33_333) {
        conversation.send(request, at, Math.min(33_333, request.length - at));
      }
      assertArrayEquals(data, conversation.onlyReply().binary());
    }
  }
}
