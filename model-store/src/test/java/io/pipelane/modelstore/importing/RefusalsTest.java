package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RefusalsTest {
  private static final String REASON = "no operator\n\"Frobnicate\" \u00e4";

  @TempDir Path folder;
  private long second;

  private Refusals refusals(int most) throws IOException {
    InstantSource everySecond = () -> Instant.ofEpochSecond(second++);
    return Refusals.open(folder, most, everySecond.withZone(ZoneOffset.UTC));
  }

  private static StatusException refusal(String reason) {
    return new StatusException(Status.UNIMPLEMENTED, reason);
  }

  private static String reason(Optional<StatusException> refusal) {
    return refusal.map(StatusException::getMessage).orElse("none");
  }

  private List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void remembered_isFoundByTheNext_untilItIsForgotten() throws IOException {
    assertTrue(refusals(2).find("key").isEmpty());
    refusals(2).remember("key", refusal(REASON));
    StatusException found = refusals(2).find("key").orElseThrow();
    assertEquals(Status.UNIMPLEMENTED, found.status());
    assertEquals(REASON, found.getMessage());
    assertEquals(List.of("key"), files());
    refusals(2).forget("key");
    refusals(2).forget("key");
    assertTrue(refusals(2).find("key").isEmpty());
  }

  @Test
  void damaged_isNone_whicheverByteItIs() throws IOException {
    Refusals refusals = refusals(2);
    refusals.remember("key", refusal(REASON));
    byte[] sound = Files.readAllBytes(folder.resolve("key"));
    for (int at = 0; at < sound.length; at++) {
      byte[] damaged = sound.clone();
      damaged[at] ^= 1;
      Files.write(folder.resolve("key"), damaged);
      assertTrue(refusals.find("key").isEmpty(), "byte " + at);
      Files.write(folder.resolve("key"), Arrays.copyOf(sound, at));
      assertTrue(refusals.find("key").isEmpty(), at + " bytes");
    }
    Files.writeString(folder.resolve("key"), "x".repeat(100_000));
    assertTrue(refusals.find("key").isEmpty());
    refusals.remember("key", refusal(REASON));
    assertEquals(REASON, reason(refusals.find("key")));
  }

  @Test
  void longReason_isShortened() throws IOException {
    Refusals refusals = refusals(2);
    refusals.remember("key", refusal("\u20ac".repeat(9000)));
    String kept = reason(refusals.find("key"));
    assertEquals(Refusals.MOST_CHARACTERS, kept.length());
    assertTrue(kept.startsWith("\u20ac\u20ac") && kept.endsWith("\u20ac ..."), kept);
  }

  @Test
  void moreThanAreKept_theLastUsedStay() throws IOException {
    Refusals refusals = refusals(3);
    Files.createFile(folder.resolve("draft-of-a-process-that-ended.part"));
    Files.setLastModifiedTime(
        folder.resolve("draft-of-a-process-that-ended.part"), FileTime.from(Instant.EPOCH));
    second = 1;
    for (String key : List.of("a", "b", "c")) {
      refusals.remember(key, refusal(REASON));
    }
    assertEquals(List.of("a", "b", "c"), files());
    assertTrue(refusals.find("a").isPresent());
    refusals.remember("d", refusal(REASON));
    assertEquals(List.of("a", "c", "d"), files());
  }

  /**
   * A link to nothing is listed and has no time, like what another process deletes in between; what
   * cannot be deleted is like what belongs to somebody else.
   */
  @Test
  void filesThatVanishOrCannotBeDeleted_doNotKeepOthersFromTheirTurn() throws IOException {
    second = 10;
    Refusals refusals = refusals(3);
    refusals.remember("a", refusal(REASON));
    refusals.remember("b", refusal(REASON));
    Path vanished = folder.resolve("vanished");
    Files.createSymbolicLink(vanished, folder.resolve("nothing"));
    refusals.remember("c", refusal(REASON));
    assertEquals(List.of("a", "b", "c", "vanished"), files(), "three are there");
    Files.delete(vanished);
    Files.createDirectories(folder.resolve("stays/inside"));
    Files.setLastModifiedTime(folder.resolve("stays"), FileTime.from(Instant.EPOCH));
    refusals.remember("d", refusal(REASON));
    assertEquals(List.of("c", "d", "stays"), files());
  }
}
