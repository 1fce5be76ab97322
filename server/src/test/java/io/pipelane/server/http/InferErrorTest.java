package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.runtime.TensorType;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class InferErrorTest {
  private static final String X = "\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,4]";
  private static final String DATA = "\"data\":[1,2,3,4]";

  private static void check(byte[] request, int status, String message) {
    try (Conversation conversation = Conversation.usual()) {
      Reply reply = conversation.send(request).onlyReply();
      assertEquals(status, reply.status(), reply.text());
      String text = reply.text().replace("\\\"", "'");
      assertTrue(text.contains(message), text);
      assertTrue(text.startsWith("{\"error\":\""), text);
      conversation.send(Requests.get("/v2/health/live"));
      assertEquals(200, conversation.replies().getLast().status(), "the server serves on");
    }
  }

  private static String input(String members) {
    return "{\"inputs\":[{" + members + "}]}";
  }

  private static String typed(String type, String data) {
    return input(
        "\"name\":\"x\",\"shape\":[1],\"datatype\":\"" + type + "\",\"data\":[" + data + "]");
  }

  /** Nobody is to be told anything else because the members stand in another order. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "7",
        "\"a\"",
        "{}",
        "[1,2,3]",
        "[1,2,3,4,5]",
        "[[1,2],[3,4]]",
        "[[1,2,3],4]",
        "[1,2,3,\"4\"]",
        "[1,2,3,1e400]",
        "[1,2,3,null]",
        "[true,2,3,4]"
      })
  void dataBeforeShape_isRefusedInTheSameWords(String data) {
    assertEquals(error(input(X + ",\"data\":" + data)), error(input("\"data\":" + data + "," + X)));
  }

  private static String error(String json) {
    try (Conversation conversation = Conversation.usual()) {
      Reply reply = conversation.send(Requests.infer("echo", json)).onlyReply();
      assertEquals(400, reply.status(), reply.text());
      return reply.text();
    }
  }

  static Stream<Arguments> badRequests() {
    return Stream.of(
        Arguments.of("echo", "", "the body is empty"),
        Arguments.of("echo", "[]", "the request must be a JSON object, not an array"),
        Arguments.of("echo", "{\n\"inputs\":[}", "malformed JSON at line 2, column 11"),
        Arguments.of("echo", "{} x", "malformed JSON at line 1, column 4"),
        Arguments.of("echo", "{\"inputs\":[", "malformed JSON at line 1"),
        Arguments.of("echo", "\ufeff{}", "UTF-8 without a byte order mark"),
        Arguments.of("echo", "[".repeat(40), "must be a JSON object"),
        Arguments.of("echo", "{\"a\":" + "[".repeat(40), "nesting depth (33) exceeds the maximum"),
        Arguments.of("echo", "{}", "the request has no inputs"),
        Arguments.of("echo", "{\"inputs\":{}}", "inputs must be an array, not an object"),
        Arguments.of("echo", "{\"inputs\":[1]}", "inputs[0] must be an object, not 1"),
        Arguments.of("echo", "{\"inputs\":[]}", "input 'x' (FP32 [-1,4]) is missing"),
        Arguments.of("echo", "{\"id\":5}", "id must be a string, not 5"),
        Arguments.of(
            "echo", "{\"id\":\"" + "i".repeat(1025) + "\"}", "1025 characters, the limit is 1024"),
        Arguments.of("echo", "{\"parameters\":{\"a\":[]}}", "'a' must be a string, a number or a"),
        Arguments.of("echo", "{\"parameters\":3}", "parameters must be an object, not 3"),
        Arguments.of(
            "echo", "{\"parameters\":{\"binary_data_output\":1}}", "must be true or false, not 1"),
        Arguments.of(
            "echo", "{\"parameters\":{\"timeout\":-1}}", "microseconds within 0 to 86400000000"),
        Arguments.of(
            "echo", "{\"parameters\":{\"priority\":\"urgent\"}}", "allowed are online, offline"),
        Arguments.of("echo", "{\"parameters\":{\"priority\":-1}}", "'priority' is '-1'"),
        Arguments.of("echo", input(DATA), "inputs[0] has no name"),
        Arguments.of("echo", input("\"name\":\"z\""), "has no input 'z'; its inputs are [x]"),
        Arguments.of("echo", input("\"name\":\"x\""), "has no datatype; the model declares FP32"),
        Arguments.of("echo", input("\"name\":1"), "inputs[0].name must be a string, not 1"),
        Arguments.of("echo", input("\"name\":\"x\",\"name\":\"x\""), "inputs[0].name stands"),
        Arguments.of("echo", "{\"id\":\"a\",\"id\":\"b\"}", "id stands there twice"),
        Arguments.of(
            "echo", "{\"parameters\":{},\"parameters\":{}}", "parameters stands there twice"),
        Arguments.of(
            "echo", input("\"parameters\":{},\"parameters\":{}"), "inputs[0].parameters stands"),
        Arguments.of(
            "echo",
            "{\"outputs\":[{\"name\":\"y_x\",\"name\":\"y_x\"}]}",
            "outputs[0].name stands there twice"),
        Arguments.of("echo", input("\"datatype\":\"FP8\""), "inputs[0]: datatype 'FP8' is unknown"),
        Arguments.of("echo", input("\"shape\":[1.5]"), "shape[0] must be an integer within 0"),
        Arguments.of("echo", input("\"shape\":[-1]"), "shape[0] must be an integer within 0"),
        Arguments.of("echo", input("\"shape\":[99999999999999999999]"), "shape[0] must be an"),
        Arguments.of(
            "echo", input("\"shape\":[" + "1,".repeat(16) + "1]"), "more than 16 dimensions"),
        Arguments.of("echo", input(X), "has neither data nor the parameter binary_data_size"),
        Arguments.of(
            "echo",
            input(X + ",\"parameters\":{\"binary_data_size\":16}," + DATA),
            "has both data and binary_data_size"),
        Arguments.of(
            "echo",
            "{\"inputs\":[{" + X + "," + DATA + "},{" + X + "," + DATA + "}]}",
            "input 'x' stands there twice"),
        Arguments.of(
            "echo",
            input(X.replace("FP32", "FP64") + "," + DATA),
            "datatype is FP64, the model declares FP32"),
        Arguments.of(
            "echo",
            input(X.replace("[1,4]", "[4]") + "," + DATA),
            "shape [4] has rank 1, the model declares [-1,4] of rank 2"),
        Arguments.of(
            "echo",
            input(X.replace("[1,4]", "[1,5]") + "," + DATA),
            "dimension 1 of shape [1,5] is 5, the model declares [-1,4]"),
        Arguments.of(
            "echo",
            input(DATA + "," + X.replace("[1,4]", "[4611686018427387904,4]")),
            "has more elements than 63 bits"),
        Arguments.of(
            "echo",
            input(X.replace("[1,4]", "[1000000000,4]") + "," + DATA),
            "needs 4000000000 elements, more than the request's JSON"),
        Arguments.of("echo", input(X + ",\"data\":[1,2,3]"), "data has 3 elements, not 4"),
        Arguments.of("echo", input(X + ",\"data\":[1,2,3,4,5]"), "data has more than 4 elements"),
        Arguments.of(
            "echo", input(X + ",\"data\":[1,\"2\"]"), "element 1 must be a number, not '2'"),
        Arguments.of(
            "echo", input(X + ",\"data\":[1,null]"), "element 1 must be a number, not null"),
        Arguments.of("echo", input(X + ",\"data\":[1,NaN]"), "malformed JSON at line 1"),
        Arguments.of("echo", input(X + ",\"data\":[1,1e39]"), "element 1 must be within -3.4028"),
        Arguments.of("echo", input(X + "," + DATA + "," + DATA), "data stands there twice"),
        Arguments.of(
            "echo", "{\"outputs\":[{\"name\":\"q\"}]}", "has no output 'q'; its outputs are [y_x]"),
        Arguments.of(
            "echo",
            "{\"outputs\":[{\"name\":\"y_x\"},{\"name\":\"y_x\"}]}",
            "output 'y_x' stands there twice"),
        Arguments.of("echo", "{\"outputs\":[{}]}", "outputs[0] has no name"),
        Arguments.of("echo_BOOL", typed("BOOL", "1"), "element 0 must be true or false, not 1"),
        Arguments.of("echo_UINT8", typed("UINT8", "256"), "within 0 to 255 for UINT8, not 256"),
        Arguments.of("echo_INT8", typed("INT8", "-129"), "within -128 to 127 for INT8"),
        Arguments.of("echo_INT16", typed("INT16", "32768"), "for INT16, not 32768"),
        Arguments.of("echo_UINT16", typed("UINT16", "-1"), "for UINT16, not -1"),
        Arguments.of("echo_INT32", typed("INT32", "2147483648"), "for INT32, not 2147483648"),
        Arguments.of("echo_UINT32", typed("UINT32", "4294967296"), "for UINT32, not 4294967296"),
        Arguments.of("echo_INT64", typed("INT64", "9223372036854775808"), "for INT64"),
        Arguments.of("echo_INT64", typed("INT64", "1.0"), "must be an integer, not 1.0"),
        Arguments.of("echo_UINT64", typed("UINT64", "18446744073709551616"), "for UINT64"),
        Arguments.of("echo_UINT64", typed("UINT64", "-1"), "for UINT64, not -1"),
        Arguments.of("echo_FP16", typed("FP16", "65520"), "within -65504 to 65504 for FP16"),
        Arguments.of("echo_FP64", typed("FP64", "1e309"), "for FP64"),
        Arguments.of("echo_BF16", typed("BF16", "1"), "BF16 has no JSON form"),
        Arguments.of("echo_BYTES", typed("BYTES", "1"), "element 0 must be a string, not 1"),
        Arguments.of("echo_BYTES", typed("BYTES", "\"\\ud800\""), "half of a surrogate pair"));
  }

  @ParameterizedTest
  @MethodSource("badRequests")
  void badJson_isRefusedWithItsPlace(String model, String json, String message) {
    check(Requests.infer(model, json), 400, message);
  }

  private static String binary(String type, String shape, long size) {
    return input(
        "\"name\":\"x\",\"datatype\":\"%s\",\"shape\":%s,\"parameters\":{\"binary_data_size\":%d}"
            .formatted(type, shape, size));
  }

  @Test
  void binaryData_mustFitTheJson() {
    String fits = binary("FP32", "[1,4]", 16);
    check(
        Requests.inferBinary("echo", fits, new byte[15]),
        400,
        "binary_data_size add up to 16 bytes, 15 follow the JSON of");
    check(Requests.inferBinary("echo", fits, new byte[17]), 400, "17 follow the JSON");
    check(
        Requests.inferBinary("echo", binary("FP32", "[1,4]", 12), new byte[12]),
        400,
        "binary_data_size is 12, shape [1,4] of FP32 needs 16");
    check(
        Requests.inferBinary("echo", binary("FP32", "[1,4]", -1), new byte[0]),
        400,
        "must be an integer within 0 to 2147483647, not -1");
    check(Requests.infer("echo", fits), 400, "0 follow the JSON");
    check(Requests.infer("echo", fits + "x".repeat(16)), 400, "malformed JSON");
    check(
        Requests.inferBinary(
            "echo_BOOL", binary("BOOL", "[9]", 9), new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 2}),
        400,
        "a BOOL at bytes 8 to 8 is neither 0 nor 1");
  }

  @Test
  void binaryDataWithoutTheHeader_isToldOfIt() {
    String hint = "; the body has binary data: say in Inference-Header-Content-Length how many";
    String json = binary("FP32", "[1,4]", 16);
    for (int value : new int[] {0, 1, 0x80, 0xff}) {
      byte[] tensor = new byte[16];
      Arrays.fill(tensor, (byte) value);
      check(Requests.infer("echo", json, tensor, ""), 400, hint);
      check(Requests.infer("echo", "", tensor, ""), 400, hint);
    }
    for (String text : List.of(json + "\u00e9", "{\r\n\t\"inputs\":[}", "", "\ufeff{}")) {
      assertFalse(error(text).contains("Inference-Header"), text);
    }
  }

  @Test
  void binaryStrings_mustFillTheirBytes() {
    byte[] strings = Requests.strings("ab", "c");
    String model = "echo_BYTES";
    check(
        Requests.inferBinary(model, binary("BYTES", "[3]", 11), strings),
        400,
        "its 11 binary bytes end before element 2 of 3");
    check(
        Requests.inferBinary(model, binary("BYTES", "[1]", 11), strings),
        400,
        "its 1 elements take 6 binary bytes, binary_data_size is 11");
    strings[9] = 1;
    check(
        Requests.inferBinary(model, binary("BYTES", "[2]", 11), strings),
        400,
        "element 1 says it has 16777217 bytes, 1 are left");
    strings[9] = -1;
    check(
        Requests.inferBinary(model, binary("BYTES", "[2]", 11), strings),
        400,
        "has 4278190081 bytes, 1 are left");
  }

  @Test
  void binaryHeader_mustBeALengthWithinTheBody() {
    String json = binary("FP32", "[1,4]", 16);
    for (String value : new String[] {"-1", "x", "999999", "1e2", "99999999999999999999", "+5"}) {
      byte[] request =
          Requests.infer(
              "echo", json, new byte[16], "Inference-Header-Content-Length: " + value + "\r\n");
      check(request, 400, "Inference-Header-Content-Length is '" + value + "'");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'0,4096,4096', 200",
    "'4096,0,4097', 400",
    "'4611686018427387904,1,0', 400",
    "'0,4611686018427387904,4611686018427387904', 400"
  })
  void emptyTensor_hasOtherDimensionsWithinALimit(String shape, int status) {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.add("open", FakeCatalog.spec("x", TensorType.FP32, -1, -1, -1));
    String members = "\"name\":\"x\",\"datatype\":\"FP32\",\"data\":[],\"shape\":[" + shape + "]";
    try (Conversation conversation =
        new Conversation(catalog, EchoService.inline(), Runnable::run)) {
      Reply reply = conversation.send(Requests.infer("open", input(members))).onlyReply();
      assertEquals(status, reply.status(), reply.text());
    }
  }

  @Test
  void lengthOfJsonSaidTwice_isRefused() {
    String header = "Inference-Header-Content-Length: ";
    byte[] request = Requests.infer("echo", "", new byte[16], header + "0\r\n" + header + "16\r\n");
    check(request, 400, "Inference-Header-Content-Length is '0, 16'");
  }

  @Test
  void unservedExtensions_areUnimplemented() {
    String region = "{\"shared_memory_region\":\"r\",\"shared_memory_byte_size\":16}";
    check(
        Requests.infer("echo", input(X + ",\"parameters\":" + region)),
        501,
        "security.shared-memory");
    byte[] squeezed = Requests.infer("echo", "{}", new byte[0], "Content-Encoding: br\r\n");
    check(squeezed, 501, "Content-Encoding 'br' is not served");
  }

  @Test
  void unknownModel_isNotFound() {
    check(Requests.infer("none", "{}"), 404, "model 'none' is unknown");
  }

  @Test
  void request_beyondTheModelsOwnLimit_isRefused() {
    check(
        Requests.infer("limited", "{\"inputs\":[{" + X + "," + DATA + "}]}"),
        413,
        "larger than limits.request-size of model limited/2, 64 bytes");
  }

  @Test
  void largeTensorInJson_whenTheCodecsAreBusy_isTurnedAway() {
    String data = "1.25,2,3,4,".repeat(30_000);
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[30000,4],\"datatype\":\"FP32\",\"data\":[%s]}]}"
            .formatted(data.substring(0, data.length() - 1));
    Executor busy =
        task -> {
          throw new RejectedExecutionException();
        };
    try (Conversation conversation =
        new Conversation(FakeCatalog.usual(), EchoService.inline(), busy)) {
      Reply reply = conversation.send(Requests.infer("echo", json)).onlyReply();
      assertEquals(503, reply.status());
      assertEquals("1", reply.header("retry-after"));
      assertEquals("{\"error\":\"the server is busy decoding; try again\"}", reply.text());
    }
  }
}
