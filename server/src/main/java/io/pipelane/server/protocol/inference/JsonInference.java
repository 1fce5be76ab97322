package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.protocol.Json;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.switcher.InferenceRequest;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * One inference that is asked for and answered in JSON texts, without a connection. Used by one
 * thread after another; closed once its request has ended.
 */
public final class JsonInference implements AutoCloseable {
  private final InferCall call;
  private final List<OutputTensor> outputs = new ArrayList<>();
  private long outputBytes;

  private JsonInference(InferCall call) {
    this.call = call;
  }

  /**
   * Decodes and checks a request.
   *
   * @param json the protocol's request, one JSON object
   * @throws StatusException when it does not fit the protocol or the model's declaration, or wants
   *     binary outputs
   */
  public static JsonInference read(ServedModel model, byte[] json) {
    InferCall call =
        InferRequestReader.read(
            model,
            Unpooled.wrappedBuffer(json),
            json.length,
            ByteBufAllocator.DEFAULT,
            new LatestDescription(),
            SharedMemory.off());
    if (call.hasBinaryOutput()) {
      call.close();
      throw Json.invalid("outputs are JSON here; leave binary_data and binary_data_output out");
    }
    return new JsonInference(call);
  }

  public InferenceRequest request() {
    return call.request();
  }

  /**
   * Where to write an output, see {@link io.pipelane.switcher.ResultHandler#place}.
   *
   * @throws StatusException {@link Status#TOO_LARGE} when there are too many bytes of them; and
   *     what {@link DirectMemory#take} throws
   */
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    InferResponseWriter.checkJsonSize(outputBytes + byteSize);
    int size = (int) byteSize;
    ByteBuf data = DirectMemory.take(Math.max(1, size), ByteBufAllocator.DEFAULT);
    outputs.add(new OutputTensor(name, type, shape, data.writerIndex(size)));
    outputBytes += byteSize;
    return OutputTensor.memory(data);
  }

  /**
   * The protocol's answer, one JSON object in one line.
   *
   * @throws StatusException when an output has no JSON form, or the text no room in Java's heap
   */
  public byte[] answer() {
    ByteBuf target = Unpooled.buffer();
    try {
      InferResponseWriter.write(call, outputs, target, () -> false);
      return ByteBufUtil.getBytes(target);
    } catch (OutOfMemoryError e) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "the outputs have %d bytes, and their JSON finds no room in Java's heap of %d (-Xmx)"
              .formatted(outputBytes, Runtime.getRuntime().maxMemory()),
          e);
    }
  }

  @Override
  public void close() {
    call.close();
    outputs.forEach(output -> output.data().release());
    outputs.clear();
  }
}
