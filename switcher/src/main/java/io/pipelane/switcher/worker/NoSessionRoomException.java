package io.pipelane.switcher.worker;

import java.io.Serial;

/**
 * The failure to build a session for which working memory has no room now: the lane is to be left,
 * and room to be made.
 */
public final class NoSessionRoomException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  NoSessionRoomException(String session, long bytes) {
    super(session + " needs " + bytes + " bytes of working memory");
  }
}
