package io.pipelane.switcher.worker;

import java.io.Serial;

/**
 * A session has to be built and working memory has no room for it now: the lane is to be left, and
 * room to be made.
 */
public final class NoSessionRoomException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  NoSessionRoomException(String session, long bytes) {
    super(session + " needs " + bytes + " bytes of working memory");
  }
}
