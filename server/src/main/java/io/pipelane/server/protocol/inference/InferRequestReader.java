package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.protocol.Json;
import io.pipelane.server.protocol.inference.InputReader.Input;
import io.pipelane.server.shared.RegionOutputs;
import io.pipelane.server.shared.RegionPart;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.RunPlace;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A reader that decodes and checks one inference request: JSON, then the binary data of its inputs,
 * which stays where it is in the body. Safe for any thread, one request per instance.
 */
public final class InferRequestReader {
  private final ByteBuf body;
  private final ByteBuf json;
  private final ByteBufAllocator allocator;
  private final SharedMemory sharedMemory;
  private final List<ByteBuf> buffers = new ArrayList<>(4);

  private InferRequestReader(
      ByteBuf body, int jsonLength, ByteBufAllocator allocator, SharedMemory sharedMemory) {
    this.body = body;
    this.json = body.slice(body.readerIndex(), jsonLength);
    this.allocator = allocator;
    this.sharedMemory = sharedMemory;
  }

  /**
   * Decodes a body.
   *
   * <p>The caller keeps its own reference to the body and may release it afterwards: the call holds
   * one more where a binary tensor lies in it. When this method throws, nothing is held.
   *
   * @param body its readable bytes are the request; its indices stay as they are
   * @param jsonLength bytes of JSON at the beginning, at most the body's; 0 for a body that is
   *     nothing but one tensor's bytes
   * @param allocator for tensors that come as JSON
   * @param latest what the same client has asked before, and now this
   * @param sharedMemory where inputs may lie and outputs go instead
   * @throws StatusException when anything does not fit the protocol or the model's declaration
   */
  public static InferCall read(
      ServedModel model,
      ByteBuf body,
      int jsonLength,
      ByteBufAllocator allocator,
      LatestDescription latest,
      SharedMemory sharedMemory) {
    if (jsonLength == 0 && body.isReadable()) {
      return readRaw(model, body, allocator);
    }
    InferRequestReader reader = new InferRequestReader(body, jsonLength, allocator, sharedMemory);
    boolean done = false;
    try {
      InferCall call = reader.read(model, latest);
      done = true;
      return call;
    } finally {
      if (!done) {
        reader.buffers.forEach(ByteBuf::release);
      }
    }
  }

  private static InferCall readRaw(ServedModel model, ByteBuf body, ByteBufAllocator allocator) {
    InferDescription description = RawTensor.describe(model, body.readableBytes());
    ByteBuf lengthened = RawTensor.lengthened(model, body, allocator);
    InferRequestReader reader =
        new InferRequestReader(
            lengthened == null ? body : lengthened, 0, allocator, SharedMemory.off());
    boolean done = false;
    try {
      InferCall call = reader.call(model, description);
      done = true;
      return call;
    } finally {
      if (!done) {
        reader.buffers.forEach(ByteBuf::release);
      }
      if (lengthened != null) {
        lengthened.release();
      }
    }
  }

  private InferCall read(ServedModel model, LatestDescription latest) {
    InferDescription description = latest.find(model, json);
    if (description == null) {
      description = DescriptionReader.read(model, json, allocator, buffers);
      if (buffers.isEmpty()) {
        latest.keep(description, json);
      }
    }
    return call(model, description);
  }

  private InferCall call(ServedModel model, InferDescription description) {
    InferenceRequest request =
        new InferenceRequest(
            model.version(),
            bind(description.inputs()),
            description.outputs(),
            model.deadline(description.timeoutMicros()),
            model.priority(description.priority()),
            description.sequence(),
            Optional.empty(),
            RunPlace.ANY);
    RegionOutputs outputs = sharedMemory.outputs(description.outputRegions());
    return new InferCall(description, request, buffers, outputs);
  }

  /** Finds each input's bytes, and puts the inputs in the order of the model's declaration. */
  private List<InputTensor> bind(List<Input> inputs) {
    int end = body.writerIndex();
    int at = json.readableBytes() + body.readerIndex();
    long promised = 0;
    for (Input input : inputs) {
      promised += Math.max(0, input.binaryDataSize());
    }
    if (promised != end - at) {
      throw Json.invalid(
          "the inputs' binary_data_size add up to %d bytes, %d follow the JSON of %d bytes"
              .formatted(promised, end - at, json.readableBytes()));
    }
    MemorySegment binary = binary(at, end - at);
    long offset = 0;
    InputTensor[] tensors = new InputTensor[inputs.size()];
    for (Input input : inputs) {
      MemorySegment data;
      if (input.data() != null) {
        data = BinaryTensors.segment(input.data());
      } else if (input.region() != null) {
        data = BinaryTensors.segment(shared(input.region()));
        BinaryTensors.check(input.spec(), "shared_memory_byte_size is", input.shape(), data);
      } else {
        data = binary.asSlice(offset, input.binaryDataSize());
        offset += input.binaryDataSize();
        BinaryTensors.check(input.spec(), "binary_data_size is", input.shape(), data);
      }
      tensors[input.declaration()] =
          new InputTensor(input.spec().name(), input.spec().type(), input.shape(), data);
    }
    return List.of(tensors);
  }

  /** An input from shared memory: a copy, which its client cannot change once it is checked. */
  private ByteBuf shared(RegionPart region) {
    sharedMemory.checkInput(region);
    int bytes = (int) region.byteSize();
    ByteBuf copy = DirectMemory.take(Math.max(1, bytes), allocator);
    buffers.add(copy);
    sharedMemory.read(region, copy.internalNioBuffer(0, bytes));
    return copy.writerIndex(bytes);
  }

  /** The body's binary part as one stretch of native memory; copied only where it is not. */
  private MemorySegment binary(int at, int length) {
    if (length == 0) {
      return MemorySegment.NULL;
    }
    if (body.isDirect() && body.nioBufferCount() == 1) {
      buffers.add(body.retain());
      return BinaryTensors.segment(body.slice(at, length));
    }
    ByteBuf copy = DirectMemory.take(length, allocator);
    buffers.add(copy);
    return BinaryTensors.segment(copy.writeBytes(body, at, length));
  }
}
