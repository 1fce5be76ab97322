package io.pipelane.lanes.process.channel;

import java.io.Serial;

/**
 * A violation of the protocol: the other process has written what cannot be, and nothing it says is
 * to be trusted any more.
 */
public final class ProtocolException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  public ProtocolException(String message) {
    super(message);
  }
}
