package io.pipelane.loadgen.request;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.pipelane.loadgen.settings.PreparedRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * The writer of inference requests as the protocol's JSON, or with the tensors as bytes behind it.
 */
final class RequestEncoder {
  private final JsonFactory json = new JsonFactory();
  private final boolean binaryOutputs;
  private final List<RequestParameter> parameters;

  /**
   * @param binaryOutputs whether answers are to have their tensors as bytes
   */
  RequestEncoder(boolean binaryOutputs, List<RequestParameter> parameters) {
    this.binaryOutputs = binaryOutputs;
    this.parameters = parameters;
  }

  PreparedRequest json(List<TensorValue> inputs) {
    return PreparedRequest.json(header(inputs, false).toByteArray());
  }

  PreparedRequest binary(List<TensorValue> inputs) {
    ByteArrayOutputStream body = header(inputs, true);
    int jsonBytes = body.size();
    for (TensorValue input : inputs) {
      byte[] bytes = new byte[input.data().remaining()];
      input.data().get(bytes);
      body.writeBytes(bytes);
    }
    return PreparedRequest.binary(body.toByteArray(), jsonBytes);
  }

  private ByteArrayOutputStream header(List<TensorValue> inputs, boolean binary) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    try (JsonGenerator out = json.createGenerator(body)) {
      out.writeStartObject();
      if (binaryOutputs || !parameters.isEmpty()) {
        writeParameters(out);
      }
      out.writeArrayFieldStart("inputs");
      for (TensorValue input : inputs) {
        writeInput(out, input, binary);
      }
      out.writeEndArray();
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return body;
  }

  private void writeParameters(JsonGenerator out) throws IOException {
    out.writeObjectFieldStart("parameters");
    if (binaryOutputs) {
      out.writeBooleanField(RequestParameter.BINARY_OUTPUT, true);
    }
    for (RequestParameter parameter : parameters) {
      parameter.write(out);
    }
    out.writeEndObject();
  }

  private static void writeInput(JsonGenerator out, TensorValue input, boolean binary)
      throws IOException {
    out.writeStartObject();
    out.writeStringField("name", input.name());
    out.writeStringField("datatype", input.type().name());
    out.writeArrayFieldStart("shape");
    for (long dimension : input.shape()) {
      out.writeNumber(dimension);
    }
    out.writeEndArray();
    if (binary) {
      out.writeObjectFieldStart("parameters");
      out.writeNumberField("binary_data_size", input.data().remaining());
      out.writeEndObject();
    } else {
      out.writeFieldName("data");
      JsonElements.write(out, input.type(), input.data());
    }
    out.writeEndObject();
  }
}
