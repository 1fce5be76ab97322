package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.Plan.Segment;
import io.pipelane.modelstore.Plan.StreamedWeight;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlanFileTest {
  @TempDir Path folder;

  /** Who changes a plan's members raises the format, or the plans of older caches are refused. */
  @Test
  void members_areThoseOfTheImportersFormat() {
    List<String> members =
        Stream.of(Plan.class, TensorSpec.class, Segment.class, StreamedWeight.class)
            .flatMap(type -> Stream.of(type.getRecordComponents()))
            .map(RecordComponent::getName)
            .toList();
    assertEquals(
        "20: structureHash inputs outputs weights repacked inPlace segments weightBytes"
            + " weightChecksum constantBytes batchPadding batching channelsLast broughtToHost"
            + " repeats notes name type shape dimensionNames offset byteSize layers estimatedNanos"
            + " name type shape offset byteSize segment",
        Importer.FORMAT + ": " + String.join(" ", members));
  }

  @Test
  void read_whatWasWritten_isEqual() throws IOException {
    Path file = folder.resolve("plan.json");
    PlanFile.write(plan(512), file);
    assertEquals(plan(512), PlanFile.read(file));
  }

  @Test
  void read_planThatContradictsItself_isRefused() throws IOException {
    Path file = folder.resolve("plan.json");
    PlanFile.write(plan(256), file);
    assertThrows(IOException.class, () -> PlanFile.read(file));
  }

  @Test
  void parse_mutatedPlan_isReadOrRefused() throws IOException {
    Path file = folder.resolve("plan.json");
    PlanFile.write(plan(512), file);
    byte[] sound = Files.readAllBytes(file);
    int refused = 0;
    for (long seed = 0; seed < 3000; seed++) {
      Random random = new Random(seed);
      byte[] bytes = java.util.Arrays.copyOf(sound, sound.length - random.nextInt(3));
      for (int i = random.nextInt(4); i >= 0; i--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(128);
      }
      try {
        PlanFile.parse(bytes);
      } catch (IOException e) {
        refused++;
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed, e);
      }
    }
    assertTrue(refused > 0);
  }

  private static Plan plan(long weightBytes) {
    return new Plan(
        "abc",
        List.of(new TensorSpec("x", TensorType.FP32, Shape.of(-1, 4))),
        List.of(new TensorSpec("y", TensorType.INT64, Shape.SCALAR)),
        List.of(
            new StreamedWeight("w/0", TensorType.FP32, Shape.of(4, 4), 0, 64, 0),
            new StreamedWeight("w\"1", TensorType.INT8, Shape.of(3), 256, 3, 1)),
        List.of(new RepackedWeight("w/2", TensorType.FP32, Shape.of(1, 4), 16, 7, 256, 64, 1)),
        List.of(new InPlaceWeight("w/3", TensorType.FP32, Shape.of(4, 2), 512, 32)),
        List.of(new Segment(0, 256, 2), new Segment(256, 256, 1)),
        weightBytes,
        0xffff_ffffL,
        12,
        new Padding(Padding.Verdict.CHANGES_ANSWERS, "relative error 2.0e-01"),
        new Batching(Batching.Verdict.AGREES, "relative error 2.0e-07"),
        true,
        3,
        true,
        List.of("verified"));
  }
}
