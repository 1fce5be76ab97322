package io.pipelane.demo.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.demo.protocol.InferenceMessages.BinaryBody;
import io.pipelane.runtime.Shape;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class InferenceMessagesTest {
  private final List<Tensor> inputs =
      List.of(
          Tensor.of("ids", new long[] {1, Long.MAX_VALUE}, 1, 2),
          Tensor.of("x", new float[] {0.1f}, 1));

  @Test
  void jsonRequest_isExact() {
    assertEquals(
        """
        {"inputs":[{"name":"ids","shape":[1,2],"datatype":"INT64","data":[1,9223372036854775807]},\
        {"name":"x","shape":[1],"datatype":"FP32","data":[0.1]}]}""",
        InferenceMessages.jsonRequest(inputs));
  }

  @Test
  void binaryRequest_putsBytesBehindTheJson() {
    BinaryBody body = InferenceMessages.binaryRequest(inputs);

    assertEquals(
        """
        {"parameters":{"binary_data_output":true},"inputs":[\
        {"name":"ids","shape":[1,2],"datatype":"INT64","parameters":{"binary_data_size":16}},\
        {"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}]}""",
        new String(body.bytes(), 0, body.jsonLength(), StandardCharsets.UTF_8));
    assertArrayEquals(
        new byte[] {1, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, 127, -51, -52, -52, 61},
        Arrays.copyOfRange(body.bytes(), body.jsonLength(), body.bytes().length));
  }

  @Test
  void binaryOutputs_areReadInOrder() throws Exception {
    List<Tensor> outputs =
        InferenceMessages.binaryOutputs(response("4", new byte[] {0, 0, -128, 63, 7}));

    assertEquals(List.of("a", "b"), outputs.stream().map(Tensor::name).toList());
    assertEquals(Shape.of(1, 1), outputs.getFirst().shape());
    assertArrayEquals(new float[] {1}, outputs.getFirst().floats());
    assertEquals(7, outputs.getLast().data().get(0));
  }

  @Test
  void binaryOutputs_withSizesThatCannotBe_throws() {
    for (String size : new String[] {"-1", "400", "1e9", "\"4\"", "null"}) {
      assertThrows(
          IOException.class, () -> InferenceMessages.binaryOutputs(response(size, new byte[5])));
    }
  }

  @Test
  void tensor_withWrongByteCount_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> Tensor.of("x", new float[3], 2, 2));
  }

  private static BinaryBody response(String size, byte[] data) {
    byte[] json =
        """
        {"outputs":[
          {"name":"a","datatype":"FP32","shape":[1,1],"parameters":{"binary_data_size":%s}},
          {"name":"b","datatype":"UINT8","shape":[1],"parameters":{"binary_data_size":1}}]}"""
            .formatted(size)
            .getBytes(StandardCharsets.UTF_8);
    byte[] body = Arrays.copyOf(json, json.length + data.length);
    System.arraycopy(data, 0, body, json.length, data.length);
    return new BinaryBody(body, json.length);
  }
}
