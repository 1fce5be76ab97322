package io.pipelane.server.protocol.inference;

import com.fasterxml.jackson.core.JsonGenerator;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.protocol.Json;
import io.pipelane.server.shared.RegionPart;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The writer of the answer to an inference request: JSON, and which outputs follow it as they are.
 */
public final class InferResponseWriter {
  /** Less than eight times as much is text: a buffer can hold that. */
  private static final long MOST_JSON_BYTES = 256L << 20;

  private InferResponseWriter() {}

  /**
   * Checks what all outputs of one answer come to that are to be JSON.
   *
   * @throws StatusException {@link Status#TOO_LARGE} when that is too much
   */
  public static void checkJsonSize(long bytes) {
    if (bytes > MOST_JSON_BYTES) {
      throw new StatusException(
          Status.TOO_LARGE,
          "the outputs that JSON is wanted of have %d bytes or more, the limit is %d; ask for less,"
                  .formatted(bytes, MOST_JSON_BYTES)
              + " or for binary data (binary_data_output) where that is possible");
    }
  }

  /**
   * Appends the JSON part to {@code target}.
   *
   * @param outputs every output wanted, in any order; they stay the caller's
   * @param unwanted whether nobody waits for it any more, in which case this may end with {@link
   *     Status#CANCELLED}
   * @return the outputs to send after the JSON, in this order
   * @throws StatusException when an output is missing or has no JSON form, or there is no room for
   *     the text
   */
  public static List<OutputTensor> write(
      InferCall call, List<OutputTensor> outputs, ByteBuf target, BooleanSupplier unwanted) {
    List<String> wanted = call.request().outputs();
    List<OutputTensor> ordered = new ArrayList<>(wanted.size());
    List<OutputTensor> binary = new ArrayList<>(wanted.size());
    for (int i = 0; i < wanted.size(); i++) {
      OutputTensor output = find(outputs, wanted.get(i), i);
      ordered.add(output);
      if (call.isBinary(i)) {
        binary.add(output);
      }
    }
    boolean allBinary = binary.size() == ordered.size();
    if (allBinary && call.latestAnswer().write(ordered, target)) {
      return binary;
    }
    int start = target.writerIndex();
    writeJson(call, ordered, target, unwanted);
    if (allBinary) {
      call.latestAnswer().keep(ordered, target, start);
    }
    return binary;
  }

  private static void writeJson(
      InferCall call, List<OutputTensor> outputs, ByteBuf target, BooleanSupplier unwanted) {
    Json.write(
        target,
        unwanted,
        json -> {
          json.writeStartObject();
          json.writeStringField("model_name", call.model().version().model());
          json.writeStringField("model_version", Long.toString(call.model().version().version()));
          if (call.id() != null) {
            json.writeStringField("id", call.id());
          }
          json.writeArrayFieldStart("outputs");
          for (int i = 0; i < outputs.size(); i++) {
            writeOutput(json, outputs.get(i), call.isBinary(i), call.region(i));
          }
          json.writeEndArray();
          json.writeEndObject();
        });
  }

  private static void writeOutput(
      JsonGenerator json, OutputTensor output, boolean binary, @Nullable RegionPart region)
      throws IOException {
    json.writeStartObject();
    json.writeStringField("name", output.name());
    json.writeStringField("datatype", output.type().name());
    json.writeArrayFieldStart("shape");
    for (int axis = 0; axis < output.shape().rank(); axis++) {
      json.writeNumber(output.shape().dimension(axis));
    }
    json.writeEndArray();
    if (region != null) {
      json.writeObjectFieldStart("parameters");
      json.writeStringField("shared_memory_region", region.region());
      json.writeNumberField("shared_memory_offset", region.offset());
      json.writeNumberField("shared_memory_byte_size", output.data().readableBytes());
      json.writeEndObject();
    } else if (binary) {
      json.writeObjectFieldStart("parameters");
      json.writeNumberField("binary_data_size", output.data().readableBytes());
      json.writeEndObject();
    } else {
      json.writeFieldName("data");
      JsonTensorWriter.write(json, output);
    }
    json.writeEndObject();
  }

  private static OutputTensor find(List<OutputTensor> outputs, String name, int likely) {
    if (likely < outputs.size() && outputs.get(likely).name().equals(name)) {
      return outputs.get(likely);
    }
    for (OutputTensor output : outputs) {
      if (output.name().equals(name)) {
        return output;
      }
    }
    throw new StatusException(Status.INTERNAL, "the run gave no output \"" + name + '"');
  }
}
