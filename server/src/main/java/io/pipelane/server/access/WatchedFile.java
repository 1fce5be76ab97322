package io.pipelane.server.access;

import io.pipelane.config.StatusException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A value that is read from a file, and again when the file changes. A file that has become wrong,
 * or is missing, changes nothing, and is warned of. It is tried again until it is right: what keeps
 * it from being read may go without its time changing. The value may be read by any thread.
 */
public final class WatchedFile<T> implements Watched<T> {
  private static final System.Logger LOG = System.getLogger(WatchedFile.class.getName());

  /** Stands for the time of a file that is missing, or cannot be asked for it. */
  private static final FileTime MISSING = FileTime.fromMillis(Long.MIN_VALUE);

  private final String what;
  private final Path file;
  private final UnaryOperator<@Nullable T> reader;
  private volatile @Nullable T value;
  private @Nullable FileTime seen; // guarded by this, as the next
  private @Nullable FileTime warnedOf;

  /**
   * Reads nothing yet.
   *
   * @param what it holds, in words
   * @param reader reads the file, given what it said before; throws {@link StatusException} when it
   *     is wrong
   */
  public WatchedFile(String what, Path file, UnaryOperator<@Nullable T> reader) {
    this.what = what;
    this.file = file;
    this.reader = reader;
  }

  @Override
  public @Nullable T value() {
    return value;
  }

  @Override
  public void look() {
    look(modified());
  }

  private synchronized void look(FileTime modified) {
    if (modified.equals(MISSING)) {
      return;
    }
    if (!modified.equals(seen)) {
      value = reader.apply(value);
      seen = modified;
      LOG.log(Level.INFO, "{0} are in force as {1} has them", what, file);
    }
    warnedOf = null;
  }

  private FileTime modified() {
    try {
      return Files.getLastModifiedTime(file);
    } catch (IOException e) {
      return MISSING;
    }
  }

  @Override
  public synchronized void lookAgain() {
    FileTime modified = modified();
    try {
      look(modified);
      if (modified.equals(MISSING) && isNews(modified)) {
        LOG.log(
            Level.WARNING,
            "{0} stay as they were: {1} is missing, or cannot be reached",
            what,
            file);
      }
    } catch (StatusException e) {
      if (isNews(modified)) {
        LOG.log(Level.WARNING, "{0} stay as they were: {1}", what, e.getMessage());
      }
    } catch (RuntimeException e) {
      if (isNews(modified)) {
        LOG.log(Level.ERROR, what + " stay as they were, for a fault", e);
      }
    }
  }

  /** Whether the file, which cannot be used, has changed since that was last said. */
  private boolean isNews(FileTime modified) {
    boolean isNews = !modified.equals(warnedOf);
    warnedOf = modified;
    return isNews;
  }
}
