package io.pipelane.switcher.grouping;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The profiles of all structures on one device: how long their segments compute, as their runs
 * tell. Safe for any thread.
 */
public final class SegmentProfiles {
  private static final int MOST_STRUCTURES = 10_000;

  private final Cache<String, RunningProfile> structures =
      Caffeine.newBuilder().maximumSize(MOST_STRUCTURES).build();
  private final @Nullable ProfileFolder folder;
  private final Executor writer;
  private final AtomicLong changes = new AtomicLong();

  private SegmentProfiles(@Nullable ProfileFolder folder, Executor writer) {
    this.folder = folder;
    this.writer = writer;
  }

  /** Profiles that are forgotten with the process. */
  public static SegmentProfiles inMemory() {
    return new SegmentProfiles(null, Runnable::run);
  }

  /**
   * Profiles that are kept in files, too.
   *
   * @param writer writes them, one after another
   */
  public static SegmentProfiles in(ProfileFolder folder, Executor writer) {
    return new SegmentProfiles(folder, writer);
  }

  /**
   * Whether a run that ends now is worth being {@link #observed}: one a millisecond is, later ten a
   * second are, as more would cost short runs much and tell little. Only one of several callers is
   * told so.
   */
  public boolean isDue(String structure, long nowNanos) {
    return running(structure).isDue(nowNanos);
  }

  /**
   * Counts a run.
   *
   * @param structure its hash
   * @param shapes of its inputs, in words
   * @param segmentNanos how long each segment computed
   */
  public void observed(String structure, String shapes, long[] segmentNanos) {
    boolean published = running(structure).observed(shapes, segmentNanos);
    if (!published) {
      return;
    }
    changes.incrementAndGet();
    if (folder != null) {
      ProfileFolder files = folder;
      writer.execute(() -> of(structure).ifPresent(files::write));
    }
  }

  /**
   * What is known of a structure: the same object until something else is. The first call reads its
   * file, later ones do not block.
   */
  public Optional<SegmentProfile> of(String structure) {
    return Optional.of(running(structure).published())
        .filter(profile -> !profile.shapes().isEmpty());
  }

  /**
   * How long all segments of a structure together compute for a combination of shapes; 0 where that
   * is not known.
   */
  public long totalNanos(String structure, String shapes) {
    return of(structure).stream()
        .flatMap(profile -> profile.shapes().stream())
        .filter(times -> times.shapes().equals(shapes))
        .mapToLong(ShapeTimes::totalNanos)
        .sum();
  }

  /** How often something else was known of a structure: where it is the same, nothing was. */
  public long changes() {
    return changes.get();
  }

  private RunningProfile running(String structure) {
    return structures.get(structure, this::read);
  }

  private RunningProfile read(String structure) {
    Optional<SegmentProfile> kept = folder == null ? Optional.empty() : folder.read(structure);
    return new RunningProfile(kept.orElse(new SegmentProfile(structure, List.of())));
  }
}
