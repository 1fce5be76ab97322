package io.pipelane.server.grpc;

import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.inference.OutputTensor;
import io.pipelane.server.shared.RegionOutputs;
import io.pipelane.switcher.InferenceRequest;
import java.util.List;

/**
 * A decoded inference message and the buffers that its inputs lie in, one reference to each of
 * which it owns. {@link #close} gives them up and must come after the request has ended, once.
 *
 * @param id the caller's own name for the request, which the answer repeats; may be empty
 * @param raw whether the outputs are answered as raw contents, as the inputs came
 * @param regions where in shared memory outputs go, which it owns as well
 */
record MessageCall(
    ServedModel model,
    String id,
    InferenceRequest request,
    boolean raw,
    List<ByteBuf> buffers,
    RegionOutputs regions)
    implements AutoCloseable {

  /**
   * Writes outputs to shared memory that go there; waits for the copies.
   *
   * @throws StatusException when one cannot be written
   */
  void deliver(List<OutputTensor> outputs) {
    for (OutputTensor output : outputs) {
      int position = request.outputs().indexOf(output.name());
      if (position >= 0 && regions.part(position) != null) {
        regions.write(position, output.name(), output.data().nioBuffer());
      }
    }
  }

  @Override
  public void close() {
    buffers.forEach(ByteBuf::release);
    buffers.clear();
    regions.close();
  }
}
