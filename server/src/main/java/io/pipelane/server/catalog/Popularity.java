package io.pipelane.server.catalog;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.switcher.residency.Usage;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The request rates of a repository's models, lately, kept in a file over a restart. Safe for any
 * thread.
 */
public final class Popularity {
  /*
   * Counts are those that residency estimates rates by (Usage), told by their logarithms. They fade
   * alike, so time that passes while no server runs changes no order, and is not counted. What is
   * counted here is added to what the file had at the start. A model that leaves the devices takes
   * its count along, so its last count is kept here, and fades.
   *
   * A file is replaced as a whole. Of two servers over one repository the last to write is right.
   */
  private static final System.Logger LOG = System.getLogger(Popularity.class.getName());
  private static final int FORMAT = 1;
  private static final long MAXIMUM_BYTES = 4 << 20;

  /** The others are asked for so seldom that their order does not matter. */
  static final int MOST_MODELS = 10_000;

  private static final double UNCHANGED = 1e-6;
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
          .build();

  /** The content of a popularity file. */
  private record Content(int format, List<Asked> models) {}

  /**
   * A model in the file.
   *
   * @param logarithm of its count when the file was written, to the base e
   */
  private record Asked(String model, long version, double logarithm) {
    ModelVersion key() {
      return new ModelVersion(model, version);
    }

    boolean isSound() {
      return Double.isFinite(logarithm);
    }
  }

  private final Path file;
  private final Duration halfLife;
  private final Supplier<Map<ModelVersion, Double>> uses;
  private final LongSupplier nanoClock;

  private final Map<ModelVersion, Double> before;
  private final long startNanos;
  private Map<ModelVersion, Double> kept;
  private long keptNanos;

  /**
   * Reads what a file has; one that cannot be used counts as missing.
   *
   * @param halfLife after which a request counts half
   * @param uses how often each model is asked for since the start: logarithms of counts that fade
   *     so
   */
  public Popularity(
      Path file,
      Duration halfLife,
      Supplier<Map<ModelVersion, Double>> uses,
      LongSupplier nanoClock) {
    this.file = file;
    this.halfLife = halfLife;
    this.uses = uses;
    this.nanoClock = nanoClock;
    this.startNanos = nanoClock.getAsLong();
    this.before = read(file);
    this.kept = before;
    this.keptNanos = startNanos;
  }

  /** The file of a repository in a cache folder that others may use as well. */
  public static Path file(Path cache, Path repository) {
    String path = repository.toAbsolutePath().normalize().toString();
    UUID name = UUID.nameUUIDFromBytes(path.getBytes(StandardCharsets.UTF_8));
    return cache.resolve("popularity").resolve(name + ".json");
  }

  private static Map<ModelVersion, Double> read(Path file) {
    try {
      if (!Files.exists(file)) {
        return Map.of();
      }
      if (Files.size(file) > MAXIMUM_BYTES) {
        throw new IOException("it is larger than " + MAXIMUM_BYTES + " bytes");
      }
      @Nullable Content content = JSON.readValue(file.toFile(), Content.class);
      if (content == null || content.format != FORMAT) {
        throw new IOException("its format is not " + FORMAT);
      }
      Map<ModelVersion, Double> read = new HashMap<>();
      for (Asked asked : content.models) {
        if (!asked.isSound()) {
          throw new IOException("it has no number for " + asked.key());
        }
        read.put(asked.key(), asked.logarithm);
      }
      return Map.copyOf(read);
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "{0} is not used, models are as popular as each other: {1}", file, e);
      return Map.of();
    }
  }

  /**
   * How often each model is asked for: logarithms, to be compared with each other. One that is
   * missing was never asked for.
   */
  public synchronized Map<ModelVersion, Double> all() {
    long now = nanoClock.getAsLong();
    Map<ModelVersion, Double> all = new HashMap<>();
    add(all, before, now - startNanos);
    uses.get().forEach((version, logarithm) -> all.merge(version, logarithm, Usage::sum));
    Map<ModelVersion, Double> known = new HashMap<>();
    add(known, kept, now - keptNanos);
    known.forEach((version, logarithm) -> all.merge(version, logarithm, Math::max));
    return all;
  }

  private void add(Map<ModelVersion, Double> to, Map<ModelVersion, Double> counts, long ageNanos) {
    double loss = Usage.faded(Duration.ofNanos(ageNanos), halfLife);
    counts.forEach((version, logarithm) -> to.put(version, logarithm - loss));
  }

  /** The same in the order of popularity, the most popular first; those alike as they were. */
  static <T> List<T> sorted(List<T> all, ToDoubleFunction<T> popularity) {
    return all.stream().sorted(Comparator.comparingDouble(popularity).reversed()).toList();
  }

  /**
   * Writes the file, unless nothing was asked for since; where that cannot be, it stays as it was.
   *
   * @param isThere whether a version is still in the repository; what is not is forgotten
   */
  public synchronized void keep(Predicate<ModelVersion> isThere) {
    long now = nanoClock.getAsLong();
    Map<ModelVersion, Double> all = all();
    all.keySet().removeIf(isThere.negate());
    Map<ModelVersion, Double> expected = new HashMap<>();
    add(expected, kept, now - keptNanos);
    boolean changed =
        !all.keySet().equals(expected.keySet())
            || expected.entrySet().stream()
                .anyMatch(
                    each -> all.getOrDefault(each.getKey(), 0.0) - each.getValue() > UNCHANGED);
    if (changed) {
      kept = Map.copyOf(all);
      keptNanos = now;
      write(all);
    }
  }

  private void write(Map<ModelVersion, Double> all) {
    List<Asked> models =
        all.entrySet().stream()
            .sorted(Map.Entry.<ModelVersion, Double>comparingByValue().reversed())
            .limit(MOST_MODELS)
            .map(each -> new Asked(each.getKey().model(), each.getKey().version(), each.getValue()))
            .toList();
    try {
      Path folder = WholeFile.folderOf(file);
      Files.createDirectories(folder);
      Path draft = Files.createTempFile(folder, "popularity", ".part");
      try {
        JSON.writeValue(draft.toFile(), new Content(FORMAT, models));
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(draft);
      }
    } catch (IOException e) {
      LOG.log(Level.WARNING, "how popular models are was not kept: {0}", e.getMessage());
    }
  }
}
