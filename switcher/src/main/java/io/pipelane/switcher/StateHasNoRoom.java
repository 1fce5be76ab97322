package io.pipelane.switcher;

import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.io.Serial;

/**
 * What has led to the refusal of a step: its state lacks room in the working memory at present.
 * Whoever knows what else the step holds there may know that it never has.
 */
public final class StateHasNoRoom extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final long bytes;
  private final long ownBytes;
  private final Priority of;

  private StateHasNoRoom(long bytes, long ownBytes, Priority of) {
    super("a state lacks room");
    this.bytes = bytes;
    this.ownBytes = ownBytes;
    this.of = of;
  }

  /**
   * The refusal.
   *
   * @param bytes what the state lacks
   * @param ownBytes what it has
   * @param of the class that it is charged to
   */
  public static StatusException refusal(long bytes, long ownBytes, Priority of) {
    return StatusException.unavailable(
        "a sequence's state, of which there are two copies, needs another %s of device.working-memory, which other states, sessions and runs hold at present; try again, end sequences, or raise that or host-tier.states"
            .formatted(new ByteSize(bytes)),
        new StateHasNoRoom(bytes, ownBytes, of));
  }

  /** What the state lacks. */
  public long bytes() {
    return bytes;
  }

  /** What it has. */
  public long ownBytes() {
    return ownBytes;
  }

  /** The class that it is charged to, which may be another than its step's. */
  public Priority of() {
    return of;
  }
}
