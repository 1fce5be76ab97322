package io.pipelane.server.protocol;

import io.netty.buffer.ByteBuf;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.switcher.InferenceRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A decoded inference request, the form in which its answer is wanted, and the buffers that its
 * inputs lie in.
 *
 * <p>The call owns one reference to each of those buffers; {@link #close} gives them up and must
 * come after the request has ended, from one thread, once.
 */
public final class InferCall implements AutoCloseable {
  private final InferDescription description;
  private final InferenceRequest request;
  private final List<ByteBuf> buffers;

  InferCall(InferDescription description, InferenceRequest request, List<ByteBuf> buffers) {
    this.description = description;
    this.request = request;
    this.buffers = buffers;
  }

  public ServedModel model() {
    return description.model();
  }

  /** The caller's own name for the request, which the answer repeats. */
  public @Nullable String id() {
    return description.id();
  }

  public InferenceRequest request() {
    return request;
  }

  /** Whether the output at a position of {@link InferenceRequest#outputs} is sent as binary. */
  public boolean isBinary(int output) {
    return description.binaryOutputs().get(output);
  }

  /** Whether any output is sent as binary. */
  public boolean hasBinaryOutput() {
    return description.binaryOutputs().contains(true);
  }

  /** How requests of the same text were answered; of use where all outputs are binary. */
  LatestAnswer latestAnswer() {
    return description.latestAnswer();
  }

  @Override
  public void close() {
    buffers.forEach(ByteBuf::release);
    buffers.clear();
  }
}
