package io.pipelane.modelstore.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContentHashesTest {
  private static final Instant CHANGED = Instant.parse("2026-01-01T00:00:00Z");

  @TempDir Path root;
  private Path model;

  @BeforeEach
  void files() throws IOException {
    model = Files.createDirectories(root.resolve("1")).resolve("model.onnx");
    write("one");
  }

  @Test
  void ofModel_settledFile_isRememberedAcrossProcesses() throws IOException {
    String hash = hashes(Duration.ofMinutes(1)).ofModel(model);
    write("two");
    assertEquals(hash, hashes(Duration.ofMinutes(1)).ofModel(model), "same size, time and inode");
    Files.setLastModifiedTime(model, FileTime.from(CHANGED.plusMillis(1)));
    assertNotEquals(hash, hashes(Duration.ofMinutes(1)).ofModel(model));
  }

  @Test
  void ofModel_fileChangedJustNow_isReadEachTime() throws IOException {
    String hash = hashes(Duration.ofMillis(10)).ofModel(model);
    write("two");
    assertNotEquals(hash, hashes(Duration.ofMillis(10)).ofModel(model));
  }

  @Test
  void ofModel_externalData_counts() throws IOException {
    String hash = hashes(Duration.ofMinutes(1)).ofModel(model);
    Files.writeString(root.resolve("1/weights.data"), "w");
    assertNotEquals(hash, hashes(Duration.ofMinutes(1)).ofModel(model));
  }

  @Test
  void ofModel_linkedFolder_isThatOfItsContent() throws IOException {
    Path link = Files.createSymbolicLink(root.resolve("2"), root.resolve("1"));
    ContentHashes hashes = hashes(Duration.ofMinutes(1));
    String hash = hashes.ofModel(link.resolve("model.onnx"));
    assertEquals(hashes.ofModel(model), hash);
  }

  @Test
  void open_damagedIndex_startsAnew() throws IOException {
    String hash = hashes(Duration.ofMinutes(1)).ofModel(model);
    Files.writeString(root.resolve("hashes.json"), "{\"a\": [");
    assertEquals(hash, hashes(Duration.ofMinutes(1)).ofModel(model));
  }

  private ContentHashes hashes(Duration sinceChange) {
    return ContentHashes.open(
        root.resolve("hashes.json"), Clock.fixed(CHANGED.plus(sinceChange), ZoneOffset.UTC));
  }

  private void write(String content) throws IOException {
    Files.writeString(model, content);
    Files.setLastModifiedTime(model, FileTime.from(CHANGED));
  }
}
