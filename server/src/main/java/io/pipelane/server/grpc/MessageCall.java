package io.pipelane.server.grpc;

import io.netty.buffer.ByteBuf;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.switcher.InferenceRequest;
import java.util.List;

/**
 * A decoded inference message and the buffers that its inputs lie in, one reference to each of
 * which it owns; {@link #close} gives them up and must come after the request has ended, once.
 *
 * @param id the caller's own name for the request, which the answer repeats; may be empty
 * @param raw whether the outputs are answered as raw contents, as the inputs came
 */
record MessageCall(
    ServedModel model, String id, InferenceRequest request, boolean raw, List<ByteBuf> buffers)
    implements AutoCloseable {

  @Override
  public void close() {
    buffers.forEach(ByteBuf::release);
    buffers.clear();
  }
}
