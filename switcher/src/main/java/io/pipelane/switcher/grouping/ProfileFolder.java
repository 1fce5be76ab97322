package io.pipelane.switcher.grouping;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The folder with the profiles of one device as JSON files, one for each structure, replaced as a
 * whole. A file that cannot be used counts as missing: runs make it anew.
 */
public final class ProfileFolder {
  private static final System.Logger LOG = System.getLogger(ProfileFolder.class.getName());
  private static final long MAXIMUM_BYTES = 4 << 20;
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
          .build();

  private final Path folder;

  /**
   * Files in a folder of the device's name in {@code profiles}, below the repository's cache.
   *
   * @param device what times hold for
   */
  public ProfileFolder(Path cache, String device) {
    folder = cache.resolve("profiles").resolve(device.replaceAll("[^\\w.-]+", "-"));
  }

  /** The profile of a structure, if there is one. */
  public Optional<SegmentProfile> read(String structure) {
    Path file = file(structure);
    try {
      if (!Files.isRegularFile(file) || Files.size(file) > MAXIMUM_BYTES) {
        return Optional.empty();
      }
      @Nullable SegmentProfile profile = JSON.readValue(file.toFile(), SegmentProfile.class);
      return Optional.ofNullable(profile).filter(kept -> isSound(kept, structure));
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "{0} is not used: {1}", file, e.getMessage());
      return Optional.empty();
    }
  }

  private static boolean isSound(SegmentProfile profile, String structure) {
    List<ShapeTimes> shapes = profile.shapes();
    return profile.structure().equals(structure)
        && shapes.stream().map(times -> times.segmentNanos().size()).distinct().count() <= 1
        && shapes.stream()
            .allMatch(
                times ->
                    times.weight() >= 0
                        && times.segmentNanos().stream().allMatch(nanos -> nanos >= 0));
  }

  /** Keeps a profile in place of an earlier one; where it cannot be written, nothing is kept. */
  void write(SegmentProfile profile) {
    try {
      Files.createDirectories(folder);
      Path draft = Files.createTempFile(folder, "profile", ".part");
      try {
        JSON.writeValue(draft.toFile(), profile);
        Files.move(draft, file(profile.structure()), StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(draft);
      }
    } catch (IOException e) {
      LOG.log(Level.WARNING, "a profile was not kept: {0}", e.getMessage());
    }
  }

  /** Each has its own: a structure that is not shared has a model's name in it. */
  private Path file(String structure) {
    return folder.resolve(URLEncoder.encode(structure, StandardCharsets.UTF_8) + ".json");
  }
}
