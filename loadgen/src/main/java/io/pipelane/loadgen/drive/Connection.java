package io.pipelane.loadgen.drive;

import io.pipelane.loadgen.result.Warmth;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A persistent connection that carries one request at a time and opens itself anew when it was
 * lost. Used on the run's thread only.
 */
public interface Connection {
  /** Begins to connect; {@link Listener#ready} or {@link Listener#refused} follows. */
  void open();

  /** Sends a prepared request; only after {@link Listener#ready} or a reusable answer. */
  void send(int model, int variant);

  /** Closes the connection under a request that takes too long, then opens it anew. */
  void abandon();

  /**
   * A listener to what happens to a connection; called on the run's thread, never from within
   * {@link #send}.
   */
  interface Listener {
    /** The connection can carry a request. */
    void ready();

    /** Connecting failed; another attempt follows. */
    void refused(String reason);

    /**
     * The request was answered.
     *
     * @param status as in {@link io.pipelane.loadgen.settings.Response}
     * @param error what kind of error the answer is, in a few words; null when it is none
     * @param jsonBytes as in {@link io.pipelane.loadgen.settings.Response}
     * @param warmth what the server said of the model's weights
     * @param body valid during the call
     * @param reusable whether the next request may follow; if not, {@link #ready} comes later
     */
    void answered(
        int status,
        @Nullable String error,
        int jsonBytes,
        Warmth warmth,
        ByteBuffer body,
        boolean reusable);

    /** The connection was lost, perhaps under a request; it opens itself anew. */
    void lost(String reason);
  }

  /** The maker of a run's connections. */
  @FunctionalInterface
  interface Factory {
    Connection create(Listener listener);
  }
}
