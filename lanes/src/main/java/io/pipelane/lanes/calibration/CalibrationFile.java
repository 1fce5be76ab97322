package io.pipelane.lanes.calibration;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.lanes.calibration.Calibration.ProductRate;
import io.pipelane.lanes.calibration.LinkProfile.Copy;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The calibrations that are kept as JSON files in a folder, one for each device and driver version.
 * A file that cannot be used counts as missing.
 */
public final class CalibrationFile {
  private static final System.Logger LOG = System.getLogger(CalibrationFile.class.getName());
  private static final long MAXIMUM_BYTES = 1 << 20;
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .build();

  private final Path folder;

  /** Files in a folder of this name below the repository's cache. */
  public CalibrationFile(Path cache) {
    this.folder = cache.resolve("calibration");
  }

  /** The content of a file; absent members are those that were not measured. */
  private record Content(
      String device,
      String driver,
      List<Copy> copies,
      double costPerCopyNanos,
      long pageBytes,
      double mapNanosPerPage,
      double unmapNanosPerPage,
      double launchNanos,
      double productsPerSecond,
      String productsWay) {}

  /** The calibration of a device under a driver, if there is one. */
  public Optional<Calibration> read(String device, String driver) {
    Path file = file(device, driver);
    try {
      if (!Files.isRegularFile(file) || Files.size(file) > MAXIMUM_BYTES) {
        return Optional.empty();
      }
      @Nullable Content content = JSON.readValue(file.toFile(), Content.class);
      return Optional.ofNullable(content)
          .filter(c -> c.device.equals(device) && c.driver.equals(driver))
          .map(CalibrationFile::calibration);
    } catch (IOException | IllegalArgumentException e) {
      LOG.log(Level.WARNING, "{0} is not used: {1}", file, e.getMessage());
      return Optional.empty();
    }
  }

  private static Calibration calibration(Content content) {
    return new Calibration(
        content.device,
        content.driver,
        new LinkProfile(content.copies),
        content.pageBytes,
        content.mapNanosPerPage,
        content.unmapNanosPerPage,
        content.launchNanos > 0 ? Optional.of(content.launchNanos) : Optional.empty(),
        content.productsPerSecond > 0
            ? Optional.of(new ProductRate(content.productsPerSecond, content.productsWay))
            : Optional.empty());
  }

  /**
   * Keeps a calibration, in place of an earlier one.
   *
   * @throws IOException when it cannot be written
   */
  public void write(Calibration calibration) throws IOException {
    Content content =
        new Content(
            calibration.device(),
            calibration.driver(),
            calibration.link().copies(),
            calibration.link().costPerCopyNanos(),
            calibration.pageBytes(),
            calibration.mapNanosPerPage(),
            calibration.unmapNanosPerPage(),
            calibration.launchNanos().orElse(0.0),
            calibration.products().map(ProductRate::operationsPerSecond).orElse(0.0),
            calibration.products().map(ProductRate::way).orElse(""));
    Files.createDirectories(folder);
    Path draft = Files.createTempFile(folder, "calibration", ".part");
    try {
      JSON.writerWithDefaultPrettyPrinter().writeValue(draft.toFile(), content);
      Path file = file(calibration.device(), calibration.driver());
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  private Path file(String device, String driver) {
    return folder.resolve((device + "-" + driver).replaceAll("[^\\w.-]+", "-") + ".json");
  }
}
