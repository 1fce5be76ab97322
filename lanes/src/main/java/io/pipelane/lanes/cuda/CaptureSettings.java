package io.pipelane.lanes.cuda;

/**
 * When a session captures its runs.
 *
 * @param afterRequests the request of a shape, counted from 1, that has it captured; 0 for never
 * @param maximumCaptures captures of one session, of 2 to 4 MB each; the one least recently used
 *     makes room for another
 */
public record CaptureSettings(int afterRequests, int maximumCaptures) {
  public static final CaptureSettings DEFAULT = new CaptureSettings(2, 8);
  public static final CaptureSettings NEVER = new CaptureSettings(0, 0);

  public CaptureSettings {
    if (afterRequests < 0 || maximumCaptures < 0) {
      throw new IllegalArgumentException(
          "captures after %d requests and %d of them: neither can be negative"
              .formatted(afterRequests, maximumCaptures));
    }
  }
}
