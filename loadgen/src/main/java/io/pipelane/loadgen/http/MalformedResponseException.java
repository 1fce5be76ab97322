package io.pipelane.loadgen.http;

/**
 * The failure to read the server's bytes, which are no HTTP/1.x response, or one above the
 * decoder's limits.
 */
final class MalformedResponseException extends Exception {
  private static final long serialVersionUID = 1L;

  MalformedResponseException(String message) {
    super(message);
  }
}
