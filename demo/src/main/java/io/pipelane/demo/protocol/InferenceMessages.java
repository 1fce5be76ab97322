package io.pipelane.demo.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The bodies of inference requests and responses: JSON, and JSON followed by bytes (the protocol's
 * binary tensor data extension).
 */
public final class InferenceMessages {
  /** The header that tells how long a body's JSON part is, in bytes. */
  public static final String JSON_LENGTH_HEADER = "Inference-Header-Content-Length";

  private static final ObjectMapper JSON = new ObjectMapper();

  private InferenceMessages() {}

  /** A JSON part and the bytes of tensors behind it. */
  public static final class BinaryBody {
    private final byte[] bytes;
    private final int jsonLength;

    /** A whole body, not copied, that begins with so many bytes of JSON. */
    public BinaryBody(byte[] bytes, int jsonLength) {
      this.bytes = bytes;
      this.jsonLength = jsonLength;
    }

    public byte[] bytes() {
      return bytes;
    }

    public int jsonLength() {
      return jsonLength;
    }
  }

  /** A request that carries its inputs as bytes and asks for bytes back. */
  public static BinaryBody binaryRequest(List<Tensor> inputs) {
    return binaryRequest(inputs, Map.of());
  }

  /**
   * The same with further parameters.
   *
   * @param parameters numbers, texts and booleans, such as {@code sequence_id}
   */
  public static BinaryBody binaryRequest(List<Tensor> inputs, Map<String, Object> parameters) {
    ObjectNode request = JSON.createObjectNode();
    ObjectNode all = request.putObject("parameters").put("binary_data_output", true);
    parameters.forEach(all::putPOJO);
    ArrayNode array = request.putArray("inputs");
    for (Tensor input : inputs) {
      describe(array.addObject(), input)
          .putObject("parameters")
          .put("binary_data_size", input.data().remaining());
    }
    byte[] json = write(request);
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(json);
    for (Tensor input : inputs) {
      byte[] data = new byte[input.data().remaining()];
      input.data().get(data);
      body.writeBytes(data);
    }
    return new BinaryBody(body.toByteArray(), json.length);
  }

  /** A request as JSON alone, for reading and pasting; FP32 and INT64 inputs. */
  public static String jsonRequest(List<Tensor> inputs) {
    ObjectNode request = JSON.createObjectNode();
    ArrayNode array = request.putArray("inputs");
    for (Tensor input : inputs) {
      ArrayNode data = describe(array.addObject(), input).putArray("data");
      switch (input.type()) {
        case FP32 -> {
          for (float value : input.floats()) {
            data.add(value);
          }
        }
        case INT64 -> {
          for (long value : input.longs()) {
            data.add(value);
          }
        }
        default -> throw new IllegalArgumentException(input.type() + " is not written as JSON");
      }
    }
    return new String(write(request), StandardCharsets.UTF_8);
  }

  /**
   * Reads the outputs of a response whose tensors are all bytes.
   *
   * @throws IOException when the body is not such a response
   */
  public static List<Tensor> binaryOutputs(BinaryBody body) throws IOException {
    JsonNode response = JSON.readTree(body.bytes(), 0, body.jsonLength());
    List<Tensor> outputs = new ArrayList<>();
    int position = body.jsonLength();
    for (JsonNode output : response.path("outputs")) {
      String name = output.path("name").asText();
      JsonNode size = output.path("parameters").path("binary_data_size");
      if (!size.canConvertToInt()
          || size.intValue() < 0
          || size.intValue() > body.bytes().length - position) {
        throw new IOException("output " + name + ": binary_data_size " + size + " is wrong");
      }
      ByteBuffer data = ByteBuffer.wrap(body.bytes(), position, size.intValue());
      outputs.add(
          new Tensor(
              name,
              TensorType.ofName(output.path("datatype").asText()),
              shape(output.path("shape")),
              data));
      position += size.intValue();
    }
    return outputs;
  }

  private static Shape shape(JsonNode dimensions) {
    long[] shape = new long[dimensions.size()];
    for (int axis = 0; axis < shape.length; axis++) {
      shape[axis] = dimensions.path(axis).longValue();
    }
    return Shape.of(shape);
  }

  private static ObjectNode describe(ObjectNode node, Tensor tensor) {
    node.put("name", tensor.name());
    ArrayNode shape = node.putArray("shape");
    for (long dimension : tensor.shape().toArray()) {
      shape.add(dimension);
    }
    return node.put("datatype", tensor.type().name());
  }

  private static byte[] write(ObjectNode node) {
    try {
      return JSON.writeValueAsBytes(node);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
