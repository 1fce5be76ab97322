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
  private final ServedModel model;
  private final @Nullable String id;
  private final InferenceRequest request;
  private final List<Boolean> binaryOutputs;
  private final List<ByteBuf> buffers;

  /**
   * @param binaryOutputs by position in the request's outputs, whether to answer it as binary data
   */
  InferCall(
      ServedModel model,
      @Nullable String id,
      InferenceRequest request,
      List<Boolean> binaryOutputs,
      List<ByteBuf> buffers) {
    this.model = model;
    this.id = id;
    this.request = request;
    this.binaryOutputs = binaryOutputs;
    this.buffers = buffers;
  }

  public ServedModel model() {
    return model;
  }

  /** The caller's own name for the request, which the answer repeats. */
  public @Nullable String id() {
    return id;
  }

  public InferenceRequest request() {
    return request;
  }

  /** Whether the output at a position of {@link InferenceRequest#outputs} is sent as binary. */
  public boolean isBinary(int output) {
    return binaryOutputs.get(output);
  }

  /** Whether any output is sent as binary. */
  public boolean hasBinaryOutput() {
    return binaryOutputs.contains(true);
  }

  @Override
  public void close() {
    buffers.forEach(ByteBuf::release);
    buffers.clear();
  }
}
