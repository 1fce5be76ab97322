package io.pipelane.loadgen.http;

import io.pipelane.loadgen.result.ServerText;

/**
 * The failure to read the server's bytes, which are no HTTP/1.x response, or one above the
 * decoder's limits.
 */
final class MalformedResponseException extends Exception {
  private static final long serialVersionUID = 1L;

  /**
   * @param message may quote the server; what would act on a terminal is left out of it
   */
  MalformedResponseException(String message) {
    super(ServerText.of(message));
  }
}
