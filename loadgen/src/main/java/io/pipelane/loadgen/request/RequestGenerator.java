package io.pipelane.loadgen.request;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.request.InputSettings.Format;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Makes requests for models from what a server says about them. */
public final class RequestGenerator {
  private static final ByteSize MAXIMUM_BODY = ByteSize.ofMebibytes(256);

  private final JsonFactory json = new JsonFactory();
  private final InputSettings settings;
  private final SplittableRandom random;

  /** A generator whose requests depend on the settings and the order of models only. */
  public RequestGenerator(InputSettings settings) {
    this.settings = settings;
    this.random = new SplittableRandom(settings.seed());
  }

  /**
   * Makes the one request that a model is asked again and again.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when a shape that was asked for does
   *     not fit the model, {@link Status#TOO_LARGE} above 256 MiB
   */
  public ModelRequests generate(ModelMetadata model) {
    List<Input> inputs = new ArrayList<>();
    ElementGenerator elements = new ElementGenerator(settings, random.split());
    long total = 0;
    for (TensorMetadata tensor : model.inputs()) {
      List<Long> shape = InputShapes.concrete(settings.shapes(), model.name(), tensor);
      Datatype type = Datatype.of(tensor);
      try {
        long count = shape.stream().reduce(1L, Math::multiplyExact);
        long bytes = elements.bytes(type, count);
        total = Math.addExact(total, bytes);
        if (total > MAXIMUM_BODY.bytes()) {
          throw tooLarge(model, tensor, shape);
        }
        ByteBuffer data = ByteBuffer.allocate((int) bytes).order(ByteOrder.LITTLE_ENDIAN);
        elements.fill(data, tensor.name(), type, count);
        inputs.add(new Input(tensor, type, shape, data.flip()));
      } catch (ArithmeticException e) {
        throw tooLarge(model, tensor, shape);
      }
    }
    return ModelRequests.infer(model.name(), List.of(request(inputs)));
  }

  private PreparedRequest request(List<Input> inputs) {
    boolean binary = settings.format() == Format.BINARY;
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    try (JsonGenerator out = json.createGenerator(body)) {
      out.writeStartObject();
      if (binary) {
        out.writeObjectFieldStart("parameters");
        out.writeBooleanField("binary_data_output", true);
        out.writeEndObject();
      }
      out.writeArrayFieldStart("inputs");
      for (Input input : inputs) {
        writeInput(out, input, binary);
      }
      out.writeEndArray();
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (!binary) {
      return PreparedRequest.json(body.toByteArray());
    }
    int jsonBytes = body.size();
    inputs.forEach(input -> body.writeBytes(input.data().array()));
    return PreparedRequest.binary(body.toByteArray(), jsonBytes);
  }

  private static void writeInput(JsonGenerator out, Input input, boolean binary)
      throws IOException {
    out.writeStartObject();
    out.writeStringField("name", input.tensor().name());
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

  private static StatusException tooLarge(
      ModelMetadata model, TensorMetadata tensor, List<Long> shape) {
    return new StatusException(
        Status.TOO_LARGE,
        "a request for \"%s\" with input \"%s\" of shape %s is larger than %s; use smaller --shape"
            .formatted(model.name(), tensor.name(), shape, MAXIMUM_BODY));
  }

  private record Input(TensorMetadata tensor, Datatype type, List<Long> shape, ByteBuffer data) {}
}
