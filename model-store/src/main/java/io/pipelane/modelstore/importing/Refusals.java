package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.cache.ContentHashes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
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
      LOG.log(
          Level.DEBUG, "a refusal cannot be read, its model is imported again: {0}", e.toString());
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
        String text = hash(status, reason) + "\n" + status + "\n" + reason;
        Files.write(draft, text.getBytes(StandardCharsets.UTF_8)); // Whatever a reason was cut at.
        touch(draft);
        Files.move(draft, folder.resolve(key), StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(draft);
      }
      deleteOldest();
    } catch (IOException | UncheckedIOException e) {
      LOG.log(
          Level.WARNING,
          "a refusal is not kept, its model will be imported again: {0}",
          e.toString());
    }
  }

  /** Keeps nothing under a key any more. */
  void forget(String key) {
    try {
      Files.deleteIfExists(folder.resolve(key));
    } catch (IOException e) {
      LOG.log(Level.WARNING, "a refusal that no longer holds stays: {0}", e.toString());
    }
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
      try {
        uses.add(new Used(file, Files.getLastModifiedTime(file)));
      } catch (IOException e) {
        surplus--; // Another process has deleted it.
      }
    }
    uses.sort(Comparator.comparing(Used::last));
    for (Used oldest : uses) {
      if (surplus > 0 && isDeleted(oldest.file())) {
        surplus--;
      }
    }
  }

  private static boolean isDeleted(Path file) {
    try {
      Files.deleteIfExists(file);
      return true;
    } catch (IOException e) { // It belongs to somebody else; another goes in its stead.
      return false;
    }
  }
}
