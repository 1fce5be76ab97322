package io.pipelane.server.http;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.protocol.UploadProgress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

/** The uploads that are under way, and those that have ended lately. Safe for any thread. */
final class Uploads {
  /** At a time. */
  static final int MAXIMUM_RUNNING = 4;

  /** Versions whose last upload is remembered. */
  private static final int MOST_REMEMBERED = 256;

  private final Semaphore running = new Semaphore(MAXIMUM_RUNNING);
  private final Map<String, AtomicReference<UploadProgress>> latest =
      new LinkedHashMap<>(); // guarded by this

  /** Whether one more may begin; {@link #ended} follows then. */
  boolean tryBegin() {
    return running.tryAcquire();
  }

  /** One that was begun has ended, however it did. */
  void ended() {
    running.release();
  }

  /** Notes the upload of a version, in place of the one before, unless that is under way. */
  synchronized void note(String model, String version, AtomicReference<UploadProgress> progress) {
    String key = key(model, version);
    AtomicReference<UploadProgress> before = latest.get(key);
    if (before != null && !before.get().hasEnded()) {
      return; // Whichever of the two is stored first, the other one is refused.
    }
    latest.remove(key);
    latest.put(key, progress);
    if (latest.size() > MOST_REMEMBERED) {
      String oldest = latest.keySet().iterator().next();
      latest.remove(oldest);
    }
  }

  /** Notes an upload that was refused at once, where nothing else is known of the version. */
  synchronized void noteUnlessKnown(
      String model, String version, AtomicReference<UploadProgress> progress) {
    if (!latest.containsKey(key(model, version))) {
      note(model, version, progress);
    }
  }

  /** The version has been deleted: an upload of it that has ended says nothing any more. */
  synchronized void forget(String model, String version) {
    progress(model, version)
        .filter(UploadProgress::hasEnded)
        .ifPresent(_ -> latest.remove(key(model, version)));
  }

  /** How far the last upload of a version has come. */
  synchronized Optional<UploadProgress> progress(String model, String version) {
    return Optional.ofNullable(latest.get(key(model, version))).map(AtomicReference::get);
  }

  private static String key(String model, String version) {
    return model + "/" + version;
  }

  /** What is answered where there was no upload, and there is no version. */
  static StatusException unknown(String model, String version) {
    return new StatusException(
        Status.NOT_FOUND,
        "there is no version %s of model \"%s\", and none has been uploaded lately"
            .formatted(version, model));
  }
}
