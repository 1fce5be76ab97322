package io.pipelane.lanes.process.channel;

import java.io.Serial;

/** The other process has written what cannot be; nothing it says is to be trusted any more. */
public final class ProtocolException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  public ProtocolException(String message) {
    super(message);
  }
}
