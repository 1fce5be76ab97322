package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.shared.RegionOutputs;
import io.pipelane.server.shared.RegionPart;
import io.pipelane.switcher.InferenceRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A decoded inference request, the form in which its answer is wanted, and the buffers that its
 * inputs lie in and its outputs go to.
 *
 * <p>The call owns one reference to each of those buffers; {@link #close} gives them up and must
 * come after the request has ended, from one thread, once.
 */
public final class InferCall implements AutoCloseable {
  private final InferDescription description;
  private final InferenceRequest request;
  private final List<ByteBuf> buffers;
  private final RegionOutputs regions;

  InferCall(
      InferDescription description,
      InferenceRequest request,
      List<ByteBuf> buffers,
      RegionOutputs regions) {
    this.description = description;
    this.request = request;
    this.buffers = buffers;
    this.regions = regions;
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

  /** Where in shared memory the output at a position goes; null where it is sent. */
  public @Nullable RegionPart region(int output) {
    return regions.part(output);
  }

  /**
   * Writes outputs to shared memory that go there; waits for the copies.
   *
   * @throws StatusException when one cannot be written
   */
  public void deliver(List<OutputTensor> outputs) {
    for (OutputTensor output : outputs) {
      int position = request.outputs().indexOf(output.name());
      if (position >= 0 && regions.part(position) != null) {
        regions.write(position, output.name(), output.data().nioBuffer());
      }
    }
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
    regions.close();
  }
}
