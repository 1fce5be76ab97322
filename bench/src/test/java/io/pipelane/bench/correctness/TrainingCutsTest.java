package io.pipelane.bench.correctness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.loadgen.zoo.ZooModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.importing.ImportSettings;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.server.CatalogSettings;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A training step as the server imports it: it has gates to its end. */
@Timeout(180)
class TrainingCutsTest {
  private static final Path LIBRARIES =
      Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test");
  private static final long LIMIT_NANOS = 2_000_000;

  @TempDir Path folder;

  @Test
  @Tag("long")
  void resnet50_givesWayOnTheWayBack() throws Exception {
    List<Plan.Segment> segments = imported(ZooModel.RESNET50_TRAIN).segments();
    long whole = segments.stream().mapToLong(Plan.Segment::estimatedNanos).sum();
    long begin = 0;
    int withoutWeights = 0;
    for (Plan.Segment segment : segments) {
      if (begin > whole / 2 && segment.byteSize() == 0) {
        withoutWeights++;
      }
      if (segment.estimatedNanos() > LIMIT_NANOS) {
        assertEquals(1, segment.layers(), "only a single node takes longer: " + segment);
      }
      begin += segment.estimatedNanos();
    }
    assertTrue(withoutWeights > 40, withoutWeights + " of " + segments.size() + " segments");
  }

  private Plan imported(ZooModel model) throws Exception {
    model.write(folder, 1);
    Path library = OrtLibrary.locate(Optional.empty(), LIBRARIES);
    ImportSettings settings =
        CatalogSettings.imports(
            PipelaneConfig.of(Map.of()), library, "any", ImportTarget.processor());
    return Importer.open(folder.resolve("cache"), settings)
        .importModel(model.file(folder), new ModelVersion(model.label(), 1))
        .plan();
  }
}
