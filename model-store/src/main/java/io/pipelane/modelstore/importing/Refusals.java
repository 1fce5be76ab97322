package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.cache.ContentHashes;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The refusals of earlier imports, by key, so that a start does not try what an earlier one has
 * found out. The last used are kept, a file for each. Safe for any thread and for several
 * processes.
 *
 * <p>It saves imports and nothing else: what cannot be kept or read is imported again.
 */
final class Refusals {
  /*
   * A file has the hash of what follows, the status, and the reason, each of the first two on a
   * line of its own. It is renamed into place, and one that a crash left torn does not match its
   * hash. A file's time is that of its last use.
   */

  private static final System.Logger LOG = System.getLogger(Refusals.class.getName());

  /** A reason repeats names of the model, which are as long as a stranger likes. */
  static final int MOST_CHARACTERS = 4 << 10;

  /** Of a file, whose characters take up to four bytes. */
  private static final long MOST_BYTES = 5L * MOST_CHARACTERS;

  private record Used(Path file, FileTime last) {}

  private final Path folder;
  private final int most;
  private final Clock clock;

  private Refusals(Path folder, int most, Clock clock) {
    this.folder = folder;
    this.most = most;
    this.clock = clock;
  }

  /**
   * Opens a folder of them, created where missing.
   *
   * @param most how many are kept
   */
  static Refusals open(Path folder, int most, Clock clock) throws IOException {
    Files.createDirectories(folder);
    return new Refusals(folder, most, clock);
  }

  /** What was refused under a key, if that is known. */
  Optional<StatusException> find(String key) {
    Path file = folder.resolve(key);
    try {
      if (!Files.isRegularFile(file) || Files.size(file) > MOST_BYTES) {
        return Optional.empty();
      }
      Optional<StatusException> found = parse(Files.readString(file));
      if (found.isPresent()) {
        touch(file);
      }
      return found;
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a refusal cannot be read, its model is imported again: {0}", e);
      return Optional.empty();
    }
  }

  private void touch(Path file) {
    try {
      Files.setLastModifiedTime(file, FileTime.from(clock.instant()));
    } catch (IOException e) {
      // It belongs to someone else, or has just gone: at worst it is made again.
    }
  }

  private static Optional<StatusException> parse(String text) {
    List<String> parts = List.of(text.split("\n", 3));
    if (parts.size() < 3 || !parts.get(0).equals(hash(parts.get(1), parts.get(2)))) {
      return Optional.empty();
    }
    return Stream.of(Status.values())
        .filter(status -> status.name().equals(parts.get(1)))
        .findFirst()
        .map(status -> new StatusException(status, parts.get(2)));
  }

  private static String hash(String status, String reason) {
    return ContentHashes.ofText(status + "\n" + reason);
  }

  /** Keeps a refusal, in the place of one that has not been used for longest. */
  void remember(String key, StatusException refusal) {
    String status = refusal.status().name();
    String reason = shortened(String.valueOf(refusal.getMessage()));
    try {
      Path draft = Files.createTempFile(folder, "draft", ".part");
      try {
        Files.writeString(draft, hash(status, reason) + "\n" + status + "\n" + reason);
        touch(draft);
        Files.move(draft, folder.resolve(key), StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(draft);
      }
      deleteOldest();
    } catch (IOException e) {
      LOG.log(Level.WARNING, "a refusal is not kept, its model will be imported again: {0}", e);
    }
  }

  /** Keeps nothing under a key any more. */
  void forget(String key) throws IOException {
    Files.deleteIfExists(folder.resolve(key));
  }

  private static String shortened(String reason) {
    return reason.length() <= MOST_CHARACTERS
        ? reason
        : reason.substring(0, MOST_CHARACTERS - 4) + " ...";
  }

  /** Drafts of processes that have ended count, and go in their turn. */
  private void deleteOldest() throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.list(folder)) {
      files = all.toList();
    }
    int surplus = files.size() - most;
    if (surplus <= 0) {
      return;
    }
    List<Used> uses = new ArrayList<>();
    for (Path file : files) {
      uses.add(new Used(file, Files.getLastModifiedTime(file)));
    }
    uses.sort(Comparator.comparing(Used::last));
    for (Used oldest : uses.subList(0, surplus)) {
      Files.deleteIfExists(oldest.file());
    }
  }
}
