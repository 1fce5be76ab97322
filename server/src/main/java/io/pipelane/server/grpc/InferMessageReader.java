package io.pipelane.server.grpc;

import com.google.protobuf.ByteString;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.protocol.grpc.InferParameter;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import io.pipelane.protocol.grpc.ModelInferRequest.InferRequestedOutputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.protocol.QuotedText;
import io.pipelane.server.protocol.RequestPriority;
import io.pipelane.server.protocol.inference.BinaryTensors;
import io.pipelane.server.protocol.inference.OutputTensor;
import io.pipelane.server.protocol.inference.TensorShapes;
import io.pipelane.server.shared.RegionOutputs;
import io.pipelane.server.shared.RegionPart;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.RunPlace;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A reader that checks one inference message against the model's declaration and copies its tensors
 * to native memory. Safe for any thread, one message per instance.
 */
final class InferMessageReader {
  private static final int MAXIMUM_RANK = 16;
  private static final int MAXIMUM_ID_LENGTH = 1024;
  private static final int LONGEST_SEQUENCE_ID = 128;
  private static final int LONGEST_QUOTED = 64;

  private final ServedModel model;
  private final ModelInferRequest message;
  private final Map<String, InferParameter> parameters;
  private final TransferBuffers transfers;
  private final ByteBufAllocator allocator;
  private final SharedMemory sharedMemory;
  private final List<@Nullable RegionPart> outputRegions = new ArrayList<>(2);
  private final List<ByteBuf> buffers;

  private InferMessageReader(
      ServedModel model,
      ModelInferRequest message,
      TransferBuffers transfers,
      ByteBufAllocator allocator,
      SharedMemory sharedMemory) {
    this.model = model;
    this.message = message;
    this.parameters = message.getParametersMap();
    this.transfers = transfers;
    this.allocator = allocator;
    this.sharedMemory = sharedMemory;
    this.buffers = new ArrayList<>(message.getInputsCount());
  }

  /**
   * Decodes a message. When this method throws, nothing is held.
   *
   * @param transfers where large inputs lie
   * @param allocator for the others
   * @param sharedMemory where inputs may lie and outputs go instead
   * @throws StatusException when anything does not fit the protocol or the model's declaration
   */
  static MessageCall read(
      ServedModel model,
      ModelInferRequest message,
      TransferBuffers transfers,
      ByteBufAllocator allocator,
      SharedMemory sharedMemory) {
    InferMessageReader reader =
        new InferMessageReader(model, message, transfers, allocator, sharedMemory);
    boolean done = false;
    try {
      MessageCall call = reader.read();
      done = true;
      return call;
    } finally {
      if (!done) {
        reader.buffers.forEach(ByteBuf::release);
      }
    }
  }

  private MessageCall read() {
    if (message.getId().length() > MAXIMUM_ID_LENGTH) {
      throw invalid(
          "id has %d characters, the limit is %d"
              .formatted(message.getId().length(), MAXIMUM_ID_LENGTH));
    }
    checkParameters("the request", parameters);
    RegionParameters.refuseIn("the request", parameters);
    boolean raw = message.getRawInputContentsCount() > 0;
    int sent = 0;
    for (InferInputTensor input : message.getInputsList()) {
      sent += RegionParameters.areIn(input.getParametersMap()) ? 0 : 1;
    }
    if (raw && message.getRawInputContentsCount() != sent) {
      throw invalid(
          "there are %d raw_input_contents for %d inputs; send one for each, or contents in each"
              .formatted(message.getRawInputContentsCount(), sent));
    }
    InferenceRequest request =
        new InferenceRequest(
            model.version(),
            readInputs(raw),
            readOutputs(),
            model.deadline(timeoutMicros(parameters)),
            model.priority(priority()),
            sequence(),
            Optional.empty(),
            RunPlace.ANY);
    boolean answersRaw = raw || sent == 0 || mustBeRaw(request);
    RegionOutputs regions = sharedMemory.outputs(outputRegions);
    return new MessageCall(model, message.getId(), request, answersRaw, buffers, regions);
  }

  /** The class that the parameter {@code priority} says; null where it is left to the model. */
  private @Nullable Priority priority() {
    InferParameter priority = parameter("priority");
    return switch (priority.getParameterChoiceCase()) {
      case PARAMETERCHOICE_NOT_SET -> null;
      case INT64_PARAM -> RequestPriority.of(Long.toString(priority.getInt64Param()));
      case UINT64_PARAM -> RequestPriority.of(Long.toUnsignedString(priority.getUint64Param()));
      case STRING_PARAM -> RequestPriority.of(priority.getStringParam());
      default -> throw wrong("priority", "a string or an integer", priority);
    };
  }

  /** Which step of a sequence it is, as the parameters say; 0 is no sequence. */
  private Optional<SequenceStep> sequence() {
    InferParameter id = parameter("sequence_id");
    String text =
        switch (id.getParameterChoiceCase()) {
          case PARAMETERCHOICE_NOT_SET -> "";
          case INT64_PARAM -> Long.toString(id.getInt64Param());
          case UINT64_PARAM -> Long.toUnsignedString(id.getUint64Param());
          case STRING_PARAM -> id.getStringParam();
          default -> throw wrong("sequence_id", "an integer or a string", id);
        };
    if (text.length() > LONGEST_SEQUENCE_ID) {
      throw invalid(
          "parameter \"sequence_id\" has %d characters, the limit is %d"
              .formatted(text.length(), LONGEST_SEQUENCE_ID));
    }
    boolean starts = isSet("sequence_start");
    boolean ends = isSet("sequence_end");
    return text.isEmpty() || text.equals("0")
        ? Optional.empty()
        : Optional.of(new SequenceStep(text, starts, ends));
  }

  /** What the request says of a parameter; empty where it says nothing. */
  private InferParameter parameter(String name) {
    return parameters.getOrDefault(name, InferParameter.getDefaultInstance());
  }

  private boolean isSet(String parameter) {
    InferParameter flag = parameter(parameter);
    return switch (flag.getParameterChoiceCase()) {
      case PARAMETERCHOICE_NOT_SET -> false;
      case BOOL_PARAM -> flag.getBoolParam();
      default -> throw wrong(parameter, "true or false", flag);
    };
  }

  /** How long the caller waits, as the parameter {@code timeout} says; 0 where it does not. */
  static long timeoutMicros(Map<String, InferParameter> parameters) {
    InferParameter timeout =
        parameters.getOrDefault("timeout", InferParameter.getDefaultInstance());
    long micros =
        switch (timeout.getParameterChoiceCase()) {
          case PARAMETERCHOICE_NOT_SET -> 0;
          case INT64_PARAM -> timeout.getInt64Param();
          case UINT64_PARAM -> timeout.getUint64Param();
          default -> -1;
        };
    if (micros < 0 || micros > ServedModel.LONGEST_TIMEOUT_MICROS) {
      throw wrong(
          "timeout",
          "an integer of microseconds within 0 to " + ServedModel.LONGEST_TIMEOUT_MICROS,
          timeout);
    }
    return micros;
  }

  private static StatusException wrong(String name, String expected, InferParameter value) {
    String text =
        switch (value.getParameterChoiceCase()) {
          case BOOL_PARAM -> Boolean.toString(value.getBoolParam());
          case INT64_PARAM -> Long.toString(value.getInt64Param());
          case UINT64_PARAM -> Long.toUnsignedString(value.getUint64Param());
          case DOUBLE_PARAM -> Double.toString(value.getDoubleParam());
          case STRING_PARAM -> '"' + shorten(value.getStringParam()) + '"';
          case PARAMETERCHOICE_NOT_SET -> "empty";
        };
    return invalid("parameter \"%s\" must be %s, not %s".formatted(name, expected, text));
  }

  /** Whether some output wanted has no typed form. */
  private boolean mustBeRaw(InferenceRequest request) {
    return model.outputs().stream()
        .anyMatch(
            spec ->
                (spec.type() == TensorType.FP16 || spec.type() == TensorType.BF16)
                    && request.outputs().contains(spec.name()));
  }

  private List<InputTensor> readInputs(boolean raw) {
    InputTensor[] tensors = new InputTensor[model.inputs().size()];
    int sent = 0;
    for (int i = 0; i < message.getInputsCount(); i++) {
      InferInputTensor input = message.getInputs(i);
      int declaration = declaration(model.inputs(), input.getName(), "inputs[" + i + "]", "input");
      if (tensors[declaration] != null) {
        throw invalid("input \"" + input.getName() + "\" stands there twice");
      }
      Map<String, InferParameter> ofInput = input.getParametersMap();
      tensors[declaration] = readInput(input, ofInput, model.inputs().get(declaration), raw, sent);
      sent += RegionParameters.areIn(ofInput) ? 0 : 1;
    }
    for (int i = 0; i < tensors.length; i++) {
      if (tensors[i] == null) {
        TensorSpec spec = model.inputs().get(i);
        throw invalid(
            "input \"%s\" (%s %s) is missing".formatted(spec.name(), spec.type(), spec.shape()));
      }
    }
    return List.of(tensors);
  }

  private InputTensor readInput(
      InferInputTensor input,
      Map<String, InferParameter> ofInput,
      TensorSpec spec,
      boolean raw,
      int index) {
    String label = "input \"" + spec.name() + '"';
    checkParameters(label, ofInput);
    Shape shape = shape(input, label);
    TensorShapes.check(model, spec, type(input, label), shape);
    RegionPart region = RegionParameters.of(label, ofInput);
    if (region != null && input.hasContents()) {
      throw invalid(label + " has both contents and a shared_memory_region; leave one out");
    }
    if (region != null) {
      MemorySegment bytes = OutputTensor.memory(shared(region));
      BinaryTensors.check(spec, "shared_memory_byte_size is", shape, bytes);
      return new InputTensor(spec.name(), spec.type(), shape, bytes);
    }
    if (raw && input.hasContents()) {
      throw invalid(label + " has both contents and raw_input_contents; leave one out");
    }
    ByteBuf data =
        raw
            ? copied(message.getRawInputContents(index))
            : ContentsReader.read(label, spec.type(), shape, input.getContents(), this::buffer);
    MemorySegment bytes = OutputTensor.memory(data);
    if (raw) {
      BinaryTensors.check(spec, "the size of its raw contents is", shape, bytes);
    }
    return new InputTensor(spec.name(), spec.type(), shape, bytes);
  }

  private static TensorType type(InferInputTensor input, String label) {
    try {
      return TensorType.ofName(input.getDatatype());
    } catch (StatusException e) {
      throw e.saying(label + ": " + e.getMessage());
    }
  }

  /** An input from shared memory: a copy, which its client cannot change once it is checked. */
  private ByteBuf shared(RegionPart region) {
    sharedMemory.checkInput(region);
    int bytes = (int) region.byteSize();
    ByteBuf data = buffer(bytes);
    sharedMemory.read(region, data.internalNioBuffer(0, bytes));
    return data.writerIndex(bytes);
  }

  private ByteBuf copied(ByteString raw) {
    ByteBuf data = buffer(raw.size());
    raw.copyTo(data.internalNioBuffer(0, raw.size()));
    return data.writerIndex(raw.size());
  }

  /** An empty buffer with room for so many bytes, which the call will own. */
  private ByteBuf buffer(int bytes) {
    ByteBuf data = transfers.take(Math.max(1, bytes), allocator);
    buffers.add(data);
    return data;
  }

  private static Shape shape(InferInputTensor input, String label) {
    if (input.getShapeCount() > MAXIMUM_RANK) {
      throw invalid(label + ": shape has more than " + MAXIMUM_RANK + " dimensions");
    }
    long[] dimensions = new long[input.getShapeCount()];
    for (int axis = 0; axis < dimensions.length; axis++) {
      dimensions[axis] = input.getShape(axis);
      if (dimensions[axis] < 0) {
        throw invalid(
            "%s: dimension %d of its shape is %d, it must not be negative"
                .formatted(label, axis, dimensions[axis]));
      }
    }
    return Shape.of(dimensions);
  }

  private List<String> readOutputs() {
    if (message.getOutputsCount() == 0) {
      List<String> all = new ArrayList<>(model.outputs().size());
      for (TensorSpec output : model.outputs()) {
        all.add(output.name());
      }
      return all;
    }
    List<String> names = new ArrayList<>(message.getOutputsCount());
    Set<String> seen = new HashSet<>();
    for (InferRequestedOutputTensor output : message.getOutputsList()) {
      declaration(model.outputs(), output.getName(), "outputs[" + names.size() + "]", "output");
      checkParameters("output \"" + output.getName() + '"', output.getParametersMap());
      outputRegions.add(
          RegionParameters.of("output \"" + output.getName() + '"', output.getParametersMap()));
      if (!seen.add(output.getName())) {
        throw invalid("output \"" + output.getName() + "\" stands there twice");
      }
      names.add(output.getName());
    }
    return names;
  }

  private static int declaration(List<TensorSpec> specs, String name, String place, String what) {
    for (int i = 0; i < specs.size(); i++) {
      if (specs.get(i).name().equals(name)) {
        return i;
      }
    }
    throw invalid(
        "%s: the model has no %s \"%s\"; its %ss are %s"
            .formatted(
                place, what, shorten(name), what, specs.stream().map(TensorSpec::name).toList()));
  }

  /** Refuses what would change the answer's meaning and is not served; others are the user's. */
  private static void checkParameters(String owner, Map<String, InferParameter> parameters) {
    if (parameters.containsKey("classification")) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          owner
              + ": parameter \"classification\" is not served; leave it out and send or take the data itself");
    }
  }

  static String shorten(String text) {
    return QuotedText.shorten(text, LONGEST_QUOTED);
  }

  static StatusException invalid(String message) {
    return new StatusException(Status.INVALID_ARGUMENT, message);
  }
}
