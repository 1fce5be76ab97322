package io.pipelane.server.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.protocol.inference.OutputTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The outputs of one inference, in buffers that its run writes them to. Used by one thread after
 * another.
 */
public final class PlacedOutputs {
  private final TransferBuffers transfers;
  private final ByteBufAllocator ordinary;
  private final int mostBytes;
  private final List<OutputTensor> tensors = new ArrayList<>(2);

  /**
   * There are none yet.
   *
   * @param ordinary for those that do not lie in transfer memory
   * @param mostBytes of one output
   */
  public PlacedOutputs(TransferBuffers transfers, ByteBufAllocator ordinary, int mostBytes) {
    this.transfers = transfers;
    this.ordinary = ordinary;
    this.mostBytes = mostBytes;
  }

  /**
   * Where to write an output, see {@link io.pipelane.switcher.ResultHandler#place}.
   *
   * @throws StatusException {@link Status#TOO_LARGE} when it has too many bytes; and what {@link
   *     TransferBuffers#take} throws
   */
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    if (byteSize > mostBytes) {
      throw new StatusException(
          Status.TOO_LARGE,
          "output \"%s\" has %d bytes, the limit is %d".formatted(name, byteSize, mostBytes));
    }
    int size = (int) byteSize;
    ByteBuf data = transfers.take(Math.max(1, size), ordinary);
    data.writerIndex(size);
    tensors.add(new OutputTensor(name, type, shape, data));
    return OutputTensor.memory(data);
  }

  /** All of them, as they were placed; for reading, until they are given back. */
  public List<OutputTensor> tensors() {
    return tensors;
  }

  /** Gives all of them back. */
  public void release() {
    tensors.forEach(output -> output.data().release());
    tensors.clear();
  }
}
