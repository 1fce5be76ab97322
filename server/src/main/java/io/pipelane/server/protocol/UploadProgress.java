package io.pipelane.server.protocol;

import io.pipelane.modelstore.repository.IncomingVersion.Stored;
import java.util.Optional;

/**
 * The progress of a version on its way into the repository.
 *
 * @param bytes that have been written
 * @param announced how many there are to be; -1 where the client has not said
 * @param stored what has been put there, once it has
 * @param failure why nothing comes of it; empty where something may
 */
public record UploadProgress(
    Phase phase, long bytes, long announced, Optional<Stored> stored, String failure) {
  /** The phase of an upload. */
  public enum Phase {
    /** Its bytes come. */
    RECEIVING,
    /** It is checked, unpacked and flushed. */
    STORING,
    /** It is in the repository. */
    STORED,
    /** Nothing is left of it. */
    FAILED
  }

  /** Nothing has come yet. */
  public static UploadProgress begun(long announced) {
    return new UploadProgress(Phase.RECEIVING, 0, announced, Optional.empty(), "");
  }

  /** Whether it gets no further. */
  public boolean hasEnded() {
    return switch (phase) {
      case RECEIVING, STORING -> false;
      case STORED, FAILED -> true;
    };
  }

  /** The same with more bytes written. */
  public UploadProgress written(long more) {
    return new UploadProgress(phase, bytes + more, announced, stored, failure);
  }

  /** The same where all bytes have come. */
  public UploadProgress storing() {
    return new UploadProgress(Phase.STORING, bytes, announced, stored, failure);
  }

  /** The same once it is in the repository. */
  public UploadProgress stored(Stored what) {
    return new UploadProgress(Phase.STORED, bytes, announced, Optional.of(what), failure);
  }

  /** The same where nothing comes of it. */
  public UploadProgress failed(String reason) {
    return new UploadProgress(Phase.FAILED, bytes, announced, stored, reason);
  }
}
