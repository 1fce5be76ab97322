package io.pipelane.switcher.grouping;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SegmentProfilesTest {
  private static final String STRUCTURE = "abc";
  private static final String SHAPES = "x FP32[1,2]";

  @TempDir Path cache;
  private final SegmentProfiles profiles = SegmentProfiles.inMemory();

  private SegmentProfiles kept() {
    return SegmentProfiles.in(new ProfileFolder(cache, "cpu: some"), Runnable::run);
  }

  private static void observe(SegmentProfiles profiles, String shapes, int runs, long... nanos) {
    for (int i = 0; i < runs; i++) {
      profiles.observed(STRUCTURE, shapes, nanos);
    }
  }

  private static ShapeTimes usual(SegmentProfiles profiles) {
    return profiles.of(STRUCTURE).orElseThrow().usual().orElseThrow();
  }

  @Test
  void of_structureThatHasNotRun_isNothing() {
    assertTrue(profiles.of(STRUCTURE).isEmpty());
  }

  @Test
  void observed_secondRun_takesTheFirstOnesPlace() {
    observe(profiles, SHAPES, 1, 1_000, 90_000);
    observe(profiles, SHAPES, 1, 1_000, 2_000);
    assertEquals(List.of(1_000L, 2_000L), usual(profiles).segmentNanos());
  }

  @Test
  void totalNanos_isKnownOfTheShapesThatHaveRun_inAnEarlierProcessAsWell() {
    observe(kept(), SHAPES, 10, 1_000, 2_000);
    assertEquals(3_000, kept().totalNanos(STRUCTURE, SHAPES));
    assertEquals(0, kept().totalNanos(STRUCTURE, "x FP32[64,2]"));
    assertEquals(0, profiles.totalNanos(STRUCTURE, SHAPES));
  }

  @Test
  void observed_timesThatHardlyMove_publishNothingNew() {
    observe(profiles, SHAPES, 10, 1_000, 2_000);
    SegmentProfile before = profiles.of(STRUCTURE).orElseThrow();
    observe(profiles, SHAPES, 10, 1_010, 2_020);
    assertSame(before, profiles.of(STRUCTURE).orElseThrow());
  }

  @Test
  void observed_timesThatMove_areFollowed() {
    observe(profiles, SHAPES, 10, 1_000, 2_000);
    observe(profiles, SHAPES, 100, 2_000, 1_000);
    List<Long> times = usual(profiles).segmentNanos();
    assertEquals(2_000, times.getFirst(), 200.0);
    assertEquals(1_000, times.getLast(), 200.0);
  }

  @Test
  void observed_otherShapesMoreOften_becomeTheUsualOnes() {
    observe(profiles, SHAPES, 20, 1_000);
    observe(profiles, "x FP32[8,2]", 1, 5_000);
    assertEquals(SHAPES, usual(profiles).shapes());
    observe(profiles, "x FP32[8,2]", 40, 5_000);
    assertEquals("x FP32[8,2]", usual(profiles).shapes());
  }

  @Test
  void observed_manyShapes_areBounded() {
    for (int i = 0; i < 100; i++) {
      observe(profiles, "x FP32[" + i + "]", 5, 1_000 + i);
    }
    assertTrue(profiles.of(STRUCTURE).orElseThrow().shapes().size() <= 8);
  }

  @Test
  void observed_structureCutOtherwise_isProfiledAnew() {
    observe(profiles, SHAPES, 10, 1_000, 2_000);
    observe(profiles, SHAPES, 2, 1_000, 1_000, 1_000);
    assertEquals(List.of(1_000L, 1_000L, 1_000L), usual(profiles).segmentNanos());
  }

  @Test
  void profiles_thatAreKept_areKnownAfterARestart() {
    observe(kept(), SHAPES, 10, 1_000, 2_000);
    assertEquals(List.of(1_000L, 2_000L), usual(kept()).segmentNanos());
  }

  @Test
  void profiles_ofAnotherDevice_areNotUsed() {
    observe(kept(), SHAPES, 10, 1_000);
    ProfileFolder other = new ProfileFolder(cache, "cuda:0");
    assertTrue(SegmentProfiles.in(other, Runnable::run).of(STRUCTURE).isEmpty());
  }

  @Test
  void profiles_ofModelsWhoseNamesDifferInPunctuation_areKeptApart() {
    ProfileFolder folder = new ProfileFolder(cache, "cpu: some");
    List<String> structures = List.of("h.a b/1", "h.a-b/1", "h.a+b/1");
    for (String structure : structures) {
      folder.write(new SegmentProfile(structure, List.of()));
    }
    structures.forEach(
        structure -> assertEquals(structure, folder.read(structure).orElseThrow().structure()));
  }

  @Test
  void profiles_whoseFileIsDamaged_areMadeAnew() throws IOException {
    observe(kept(), SHAPES, 10, 1_000, 2_000);
    Path file = onlyFile();
    String json = Files.readString(file);
    List<String> damaged = new ArrayList<>(List.of("", "null", "{}", "[1]"));
    damaged.add(json.substring(0, json.length() / 2));
    damaged.add(json.replace(STRUCTURE, "another"));
    damaged.add(json.replace("1000", "-1000"));
    for (String content : damaged) {
      Files.writeString(file, content);
      assertTrue(kept().of(STRUCTURE).isEmpty(), content);
    }
    observe(kept(), SHAPES, 2, 3_000);
    assertEquals(List.of(3_000L), usual(kept()).segmentNanos());
  }

  private Path onlyFile() throws IOException {
    try (Stream<Path> files = Files.walk(cache)) {
      List<Path> found = files.filter(Files::isRegularFile).toList();
      assertEquals(1, found.size());
      return found.getFirst();
    }
  }
}
